"""Definitions of the tables of the published comparison."""

from collections.abc import Mapping
from typing import Any

from ...hw.presets import PRESETS
from ...sim.report.utilization import combined_utilization, shared_footprint
from .energy_definitions import ENERGY_REPRODUCTIONS
from .published import (
    AREA_RATIOS,
    ATTENTION_UTILIZATION,
    DESIGNS,
    HETEROGENEOUS_UTILIZATION,
    INSTRUCTION_SHARES,
    MAC_UTILIZATION,
    SHARED_AREA,
    SHARED_READ_MIB,
    SIZES,
)
from .reproduction import MIB, SHARE, Line, Reproduction, Results
from .runs import OVERWRITING, PAIR, UNITS, attention_run, pair_run

__all__ = ["REPRODUCTIONS"]

VIRGO = "virgo"
#: Queries and keys of the published attention.
ATTENTION_SIZE = 1024
#: Designs whose attention is measured, with the labels of their rows.
ATTENTION_DESIGNS = {
    "virgo_fp32": "Virgo, FP32",
    f"virgo_fp32{OVERWRITING}": "Virgo, FP32, O overwritten",
    "ampere_fp32": "Ampere-style, FP32",
    "virgo": "Virgo, FP16",
    "hopper": "Hopper-style, FP16",
    "ampere": "Ampere-style, FP16",
}


def utilization_of(design: str) -> Line:
    """Return the row of a design in table 3."""
    return Line(
        label=DESIGNS[design],
        designs=(design,),
        published=dict(zip(SIZES, MAC_UTILIZATION[design], strict=True)),
        value=lambda results: results[design]["mac_utilization"],
    )


def attention_of(design: str, label: str) -> Line:
    """Return the row of a design's attention."""
    published = ATTENTION_UTILIZATION.get(design)
    return Line(
        label=label,
        designs=(design,),
        published={} if published is None else {ATTENTION_SIZE: published},
        value=lambda results: results[design]["mac_utilization"],
    )


def reads_of(design: str) -> Line:
    """Return the row of a design in table 4."""
    return Line(
        label=DESIGNS[design],
        designs=(design,),
        published={SIZES[0]: SHARED_READ_MIB[design]},
        value=lambda results: sum(shared_footprint(results[design]["counters"]).values()) / 2**20,
    )


def retired(result: Mapping[str, Any], *, with_polling: bool) -> float:
    """Return the warp instructions of all cores."""
    counts = result["instructions"]
    return counts["warp"] - (0 if with_polling else counts["polling"])


def instructions_to(design: str, *, with_polling: bool) -> Line:
    """Return the row of Virgo's instructions as a share of those of a design."""

    def share(results: Results) -> float:
        own, other = (retired(results[name], with_polling=with_polling) for name in (VIRGO, design))
        return own / other

    label = f"{DESIGNS[VIRGO]} to {DESIGNS[design]}"
    return Line(
        label=label if with_polling else f"{label}, without polling",
        designs=(VIRGO, design),
        published=dict.fromkeys(SIZES, INSTRUCTION_SHARES[design]) if with_polling else {},
        value=share,
    )


def area_to(design: str) -> Line:
    """Return the row of Virgo's area in relation to that of a design."""

    def ratio(results: Results) -> float:
        own, other = (results[name]["area"]["nand2_with_sram"] for name in (VIRGO, design))
        return own / other

    return Line(
        label=f"{DESIGNS[VIRGO]} to {DESIGNS[design]}",
        designs=(VIRGO, design),
        published={SIZES[0]: AREA_RATIOS[design]} if design in AREA_RATIOS else {},
        value=ratio,
    )


def shared_area() -> Line:
    """Return the row of the share of the shared memory in Virgo's area."""

    def share(results: Results) -> float:
        area = results[VIRGO]["area"]
        return area["groups"]["shared memory"] / area["nand2_with_sram"]

    return Line(
        label=f"shared memory of {DESIGNS[VIRGO]}",
        designs=(VIRGO,),
        published={SIZES[0]: SHARED_AREA},
        value=share,
    )


def heterogeneous_of(label: str, designs: tuple[str, ...]) -> Line:
    """Return the row of both units of the heterogeneous machine, at once or one after the other."""
    return Line(
        label=label,
        designs=designs,
        published={SIZES[0]: HETEROGENEOUS_UTILIZATION[label]},
        value=lambda results: combined_utilization(
            PRESETS[PAIR], (results[name] for name in designs)
        ),
    )


REPRODUCTIONS = {
    table.name: table
    for table in (
        Reproduction(
            name="table3",
            title="MAC utilisation of gemm (table 3)",
            unit=SHARE,
            sizes=SIZES,
            quick_sizes=SIZES[:2],
            lines=[utilization_of(design) for design in DESIGNS],
        ),
        Reproduction(
            name="table4",
            title="shared memory read by gemm, MiB (table 4)",
            unit=MIB,
            sizes=SIZES[:1],
            quick_sizes=SIZES[:1],
            lines=[reads_of(design) for design in DESIGNS],
        ),
        Reproduction(
            name="instructions",
            title="retired instructions of gemm, share (section 6.1.1)",
            unit=SHARE,
            sizes=SIZES,
            quick_sizes=SIZES[:2],
            lines=[
                instructions_to(design, with_polling=with_polling)
                for design in INSTRUCTION_SHARES
                for with_polling in (True, False)
            ],
            note="The published shares have no size; each size has the same one.",
        ),
        Reproduction(
            name="attention",
            title="MAC utilisation of attention, one head, depth 64 (section 6.2)",
            unit=SHARE,
            sizes=(ATTENTION_SIZE,),
            quick_sizes=(ATTENTION_SIZE // 4,),
            lines=[attention_of(*line) for line in ATTENTION_DESIGNS.items()],
            note=(
                "The published figures are of FP32. The released program overwrites O in each "
                "step and checks no value; a line shows what this saves."
            ),
            run=attention_run,
            size_text="{0} queries and keys",
            formats="values checked bit by bit",
            has_account=True,
        ),
        Reproduction(
            name="figure7",
            title="area, share (figure 7 and section 5.3)",
            unit=SHARE,
            sizes=SIZES[:1],
            quick_sizes=SIZES[:1],
            lines=[*(area_to(name) for name in DESIGNS if name != VIRGO), shared_area()],
            note=(
                "Ours: NAND2 equivalents with SRAM, without technology mapping. Published: area in "
                "a 16 nm process, with the L1 caches as flip-flops."
            ),
            has_account=True,
            has_area=True,
        ),
        *ENERGY_REPRODUCTIONS,
        Reproduction(
            name="heterogeneous",
            title="MAC utilisation of two units of different sizes (section 6.3)",
            unit=SHARE,
            sizes=SIZES[:1],
            quick_sizes=SIZES[:1],
            lines=[
                heterogeneous_of(label, designs)
                for label, designs in zip(
                    HETEROGENEOUS_UTILIZATION, ((UNITS[2],), UNITS[:2]), strict=True
                )
            ],
            note="The product of the second unit has half the size in each dimension.",
            run=pair_run,
            has_account=True,
        ),
    )
}
