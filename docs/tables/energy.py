"""Tables of energy.md."""

from typing import Any

from spica.explore.reproduce.energy_definitions import COMPONENTS

from .stored import Stored, cited, read, section

__all__ = ["SECTIONS", "change", "energy_of", "runs_by_design"]

PJ_PER_UJ = 1e6


def change(ratio: float) -> str:
    """Return the change of a ratio from one in percent, with its sign."""
    return f"{100 * (ratio - 1):+.1f}"


def runs_by_design(name: str, size: int) -> dict[str, Stored]:
    """Return runs of a size by preset."""
    return {
        run.result["preset"]: run
        for run in read(name)
        if next(iter(run.result["sizes"].values())) == size
    }


def energy_of(run: Stored) -> list[str]:
    """Return the cells of a run: cycles, energy, its error, its kinds and its components."""
    energy = run.result["energy"]
    error = energy["standard_error_pj"]
    total = energy["total_pj"]
    kinds = (energy["internal_pj"] + energy["switching_pj"], energy["clock_pj"])
    return [
        f"{energy['cycles']:,}",
        microjoules(total),
        "" if error is None else f"{100 * error / total:.1f} %",
        f"{energy['pj_per_mac']:.2f} pJ",
        f"{energy['power_mw']:,.0f} mW",
        *(microjoules(energy_pj) for energy_pj in (*kinds, energy["memory_pj"])),
        *(part_of(energy, groups, name) for name, groups in COMPONENTS.items()),
        microjoules(energy["ungated_total_pj"]),
        cited([run]),
    ]


def part_of(energy: dict[str, Any], groups: tuple[str, ...], name: str) -> str:
    """Return the energy of a component and its share."""
    by_group = energy["by_group"]
    own = [by_group[group] for group in dict.fromkeys((*groups, name)) if group in by_group]
    picojoules = sum(energy_pj["total_pj"] for energy_pj in own)
    return f"{microjoules(picojoules)}, {100 * picojoules / energy['total_pj']:.1f} %"


def microjoules(picojoules: float) -> str:
    """Return an energy in three or four digits."""
    value = picojoules / PJ_PER_UJ
    if value >= 10_000:
        return f"{value / 1000:.2f} mJ"
    return f"{value:,.0f} uJ" if value >= 100 else f"{value:.1f} uJ"


ROWS = (
    *("cycles of the run", "energy", "standard error", "per multiply-add", "average power"),
    *("logic", "clock pins", "memories", *COMPONENTS, "with a clock in every cycle", "commit"),
)


def energies(title: str, runs: list[Stored]) -> str:
    """Return commands of runs and the table of their energies, a column for each."""
    cells = zip(*(energy_of(run) for run in runs), strict=True)
    rows = ([name, *values] for name, values in zip(ROWS, cells, strict=True) if any(values))
    header = [title, *(f"`{run.result['preset']}`" for run in runs)]
    return section(runs, header, rows, has_commits=True, examples=1)


def designs_256() -> str:
    """Return energies of products of 256 on four designs."""
    return energies("256 x 256 x 256", list(runs_by_design("gates", 256).values()))


def attention_energies() -> str:
    """Return energies of attention on two machines."""
    return energies("1,024 queries and keys", read("gates_attention"))


SECTIONS = (designs_256, attention_energies)
