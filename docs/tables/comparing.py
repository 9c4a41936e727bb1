"""Tables of comparing.md."""

from collections.abc import Iterable
from typing import Any

from spica.explore.reproduce.published import DESIGNS, ENERGY_RATIOS, POWER_RATIOS, SIZES
from spica.explore.reproduce.restrictions import RESTRICTIONS

from .energy import change, runs_by_design
from .stored import Stored, cited, commands, measured_at, percent, read, section, share

__all__ = ["SECTIONS", "table3"]

OURS = "Spica"
#: Restriction by name of the JSON, in the order in which they are combined.
LABELS = {item.name: item.label for item in RESTRICTIONS}


def sample() -> str:
    """Return the text of a comparison."""
    (run,) = read("compare")
    lines = "\n".join(line.rstrip() for line in run.output.rstrip().splitlines())
    parts = lines.split("\n\n")
    remark = lines.splitlines()[-1]
    text = "\n\n".join([*parts[:SHOWN_PARTS], f" …\n{remark}"])
    return f"\n{commands([run])}\n\n```\n{text}\n```\n\n{measured_at([run])}\n"


#: Parts of a comparison that the page shows: the best machines, verdicts, speed, instructions.
SHOWN_PARTS = 4


def figures(name: str) -> Iterable[tuple[Stored, dict[str, Any]]]:
    """Yield the figures of a file with their runs; the first of each figure counts."""
    known: set[tuple[str, int]] = set()
    for run in read(name):
        for figure in run.result["figures"]:
            key = (figure["label"], figure["size"])
            if key not in known:
                known.add(key)
                yield run, figure


def table3() -> dict[tuple[str, int], tuple[float, Stored]]:
    """Return MAC utilisation and its run by label of a design and size."""
    return {
        (figure["label"], figure["size"]): (figure["ours"], run)
        for run, figure in figures("table3")
    }


def other_figures() -> str:
    """Return traffic, instructions and areas of products of 256, and utilisation of two units."""
    runs = read("published")
    rows = (
        [
            TITLES[run.command.split()[2]],
            figure["label"],
            *(written(figure[side], run.result["unit"]) for side in ("ours", "published")),
            cited([run]),
        ]
        for run in runs
        for figure in run.result["figures"]
        if figure["size"] == SIZES[0]
    )
    header = ["figure", "design", "ours", "published", "commit"]
    return section(runs, header, rows, has_commits=True)


TITLES = {
    "table4": "MiB read from shared memory at 256",
    "instructions": "retired instructions at 256",
    "figure7": "area",
    "heterogeneous": "utilisation of two matrix units",
}


def written(value: float | None, unit: str) -> str:
    """Return a figure as text; nothing for none."""
    if value is None:
        return ""
    return percent(value) if unit == "share" else f"{value:,.2f}"


def energy_ratios() -> str:
    """Return cycles, power and energy of Virgo in relation to other designs, from gates."""
    rows = []
    for size in (256, 512):
        runs = runs_by_design("gates", size)
        own = runs.pop("virgo")
        for design, other in runs.items():
            cycles, power, energy = (
                change(own.result["energy"][key] / other.result["energy"][key])
                for key in ("cycles", "power_mw", "total_pj")
            )
            power_published, energy_published = (
                change(ratios[design]) if design in ratios else ""
                for ratios in (POWER_RATIOS, ENERGY_RATIOS)
            )
            rows.append([
                *(f"{size}", DESIGNS[design], cycles, power, power_published),
                *(energy, energy_published, cited([own, other])),
            ])
    header = [
        *("M = N = K", "Virgo to", "cycles of the run, %", "power, %", "published, %"),
        *("energy, %", "published, %", "commits"),
    ]
    return section(read("gates"), header, rows, has_commits=True, examples=1)


def restricted_utilisation() -> str:
    """Return utilisation under restrictions of the published machine."""
    (run,) = read("as_published")
    designs = run.result["designs"]
    rows = [[OURS, *(share(item["ours"]) for item in designs)]]
    for label in LABELS.values():
        steps = (step for step in run.result["steps"] if step["label"] == label)
        together = {step["design"]: step["together"] for step in steps}
        rows.append([label, *(cell(together.get(design)) for design in DESIGNS)])
    rows.append(["published", *(share(item["published"]) for item in designs)])
    header = ["restriction", *(f"{item}, %" for item in DESIGNS.values())]
    return section([run], header, rows)


def cell(value: float | None) -> str:
    """Return a share in percent; nothing for none."""
    return "" if value is None else share(value)


SECTIONS = (sample, other_figures, energy_ratios, restricted_utilisation)
