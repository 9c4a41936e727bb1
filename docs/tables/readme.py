"""Tables of README.md."""

from pages import table

from spica.explore.reproduce.published import (
    ATTENTION_UTILIZATION,
    DESIGNS,
    ENERGY_RATIOS,
    MAC_UTILIZATION,
    SIZES,
)

from .attention import utilisation
from .comparing import table3
from .energy import runs_by_design
from .stored import cited, commands, read, share

__all__ = ["SECTIONS"]

PRESETS = ("virgo", "hopper", "ampere", "volta")
STYLES = {
    "virgo": "Virgo [1]",
    "hopper": "Hopper style [1]",
    "ampere": "Ampere style [1]",
    "volta": "Volta style [1]",
}
#: Lines of a report that are its summary.
SUMMARY = 4


def result() -> str:
    """Return command and summary of a product on `virgo`."""
    (run,) = (run for run in read("virgo") if run.output)
    lines = "\n".join(run.output.splitlines()[:SUMMARY])
    return f"{commands([run])}\n\n```\n{lines}\n```"


def comparison() -> str:
    """Return utilisation and energy of all designs, and the published ones."""
    rows = [*product_rows(), *attention_rows(), energy_row()]
    header = ["", *(f"`{preset}`" for preset in PRESETS), *STYLES.values(), "command", "commit"]
    return table(header, rows)


def product_rows() -> list[list[str]]:
    """Return a row of MAC utilisation for each size of product."""
    shares = table3()
    return [
        [
            f"product of {size}³, MAC utilisation, %",
            *(share(shares[DESIGNS[preset], size][0]) for preset in PRESETS),
            *(share(MAC_UTILIZATION[preset][number], 1) for preset in PRESETS),
            "`spica reproduce table3`",
            cited(shares[DESIGNS[preset], size][1] for preset in PRESETS),
        ]
        for number, size in enumerate(SIZES)
    ]


def attention_rows() -> list[list[str]]:
    """Return rows of MAC utilisation of attention in FP16 and in FP32."""
    shares = utilisation()
    rows = []
    for form, suffix in {"FP16": "", "FP32": "_fp32"}.items():
        presets = [f"{preset}{suffix}" for preset in PRESETS]
        published = (ATTENTION_UTILIZATION.get(preset) for preset in presets)
        rows.append([
            f"attention of 1,024 queries and keys, depth 64, {form}, MAC utilisation, %",
            *(share(shares[preset][0]) if preset in shares else "" for preset in presets),
            *(share(value, 1) if value else "" for value in published),
            "`spica run attention --size 1024x64 --preset …`",
            cited(shares[preset][1] for preset in presets if preset in shares),
        ])
    return rows


def energy_row() -> list[str]:
    """Return the energy of a product of 256 on Virgo in relation to each design."""
    runs = runs_by_design("gates", SIZES[0])
    own = runs["virgo"].result["energy"]["total_pj"]
    return [
        f"product of {SIZES[0]}³, energy of Virgo to that of the design, %",
        *(share(own / runs[preset].result["energy"]["total_pj"], 1) for preset in PRESETS),
        *(share(ENERGY_RATIOS[preset], 1) if preset in ENERGY_RATIOS else "" for preset in PRESETS),
        f"`spica run gemm --size {SIZES[0]} --energy-gates --liberty FILE --preset …`",
        cited(runs[preset] for preset in PRESETS),
    ]


SECTIONS = (result, comparison)
