"""Figures of a comparison: rows of its table, each with its meaning and a value per machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...sim.report.energy_report import energy_text
from ...sim.report.result import ISSUE_SLOTS, PASS
from ...sim.report.tables import percent
from ...sim.report.utilization import ACTIVITIES, shared_footprint
from ..sweep.row import Row
from ..work.metrics import slot_share
from .figure_definitions import (
    COUNT,
    ENERGY,
    FIRST,
    LAST,
    PICOJOULES,
    SHARE,
    Definition,
    Result,
    Value,
)

__all__ = ["SECTIONS", "Figure", "figures_of_rows", "passed", "shown"]

#: Sections of the table with their titles.
SECTIONS = {
    "speed": "speed",
    "instructions": "warp instructions",
    "issue_slots": "issue slots",
    "matrix_units": "cycles of the matrix units",
    "shared_memory": "shared memory, bytes read",
    "memory": "caches, DMA and DRAM",
    "energy": "energy, from events",
    "energy_groups": "energy by group",
    "area": "area",
    "groups": "area by group, NAND2 equivalents",
}
#: Parts of an area that are not groups, by key: name, meaning.
AREAS = {
    "nand2_with_sram": ("NAND2, with SRAM", "NAND2 equivalents, including SRAM"),
    "nand2": ("NAND2, without SRAM", "NAND2 equivalents of gates and flip-flops"),
    "sram_bits": ("SRAM bits", "bits in memories"),
    "depth": ("depth", "gates on the longest path between registers"),
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Row of a comparison.

    Parameters
    ----------
    section : str
        One of `SECTIONS`.
    name : str
        Name, unique within the section.
    label : str
        Name in tables.
    meaning : str
        Meaning, with its unit.
    kind : str
        `COUNT`, `RATE`, `SHARE` or `PICOJOULES`.
    values : sequence
        Value of each machine; None for a machine without one.
    has_ratio : bool
        Whether ratios between machines are of interest.

    """

    section: str
    name: str
    label: str
    meaning: str
    kind: str
    values: Sequence[Value]
    has_ratio: bool = True

    @property
    def ratios(self) -> list[float | None]:
        """Value of each machine divided by that of the first; None where either is missing."""
        first = self.values[0]
        return [
            value / first if self.has_ratio and value is not None and first else None
            for value in self.values
        ]


def shown(figure: Figure, value: Value) -> str:
    """Return a value as text; a dash for none."""
    if value is None:
        return "-"
    if figure.kind == SHARE:
        return percent(value)
    if figure.kind == PICOJOULES:
        return energy_text(value)
    return f"{value:,.0f}" if figure.kind == COUNT else f"{value:,.3f}"


def figures_of_rows(rows: Sequence[Row]) -> list[Figure]:
    """Return all figures that one of the machines has; a run that fails has none."""
    results = [row.record.result if passed(row.record.result) else None for row in rows]
    figures = [
        *defined(FIRST, results),
        *shares("issue_slots", results, slots_of, slot_meanings(), kind=SHARE),
        *shares("matrix_units", results, activities_of, activity_meanings(), kind=SHARE),
        *shares("shared_memory", results, shared_reads_of, {}, kind=COUNT),
        *defined(LAST, results),
        *defined(ENERGY, results),
        *shares("energy_groups", results, energies_of, {}, kind=PICOJOULES),
        *area_figures([row.areas for row in rows]),
    ]
    return [figure for figure in figures if any(value is not None for value in figure.values)]


def passed(result: Result | None) -> bool:
    """Return whether a run came to its end and passed its check."""
    return result is not None and result["check"]["verdict"] == PASS


def defined(
    definitions: Sequence[Definition], results: Sequence[Result | None]
) -> Iterator[Figure]:
    """Yield the figures of definitions."""
    for definition in definitions:
        yield Figure(
            section=definition.section,
            name=definition.name,
            label=definition.label,
            meaning=definition.meaning,
            kind=definition.kind,
            values=[None if result is None else definition.value(result) for result in results],
        )


def slot_meanings() -> dict[str, tuple[str, str]]:
    """Return label and meaning of each outcome of an issue slot."""
    return {name: (name.replace("_", " "), meaning) for name, meaning in ISSUE_SLOTS.items()}


def slots_of(result: Result) -> dict[str, Value]:
    """Return the share of each outcome among the issue slots of all cores."""
    return {outcome: slot_share(outcome)(result) for outcome in ISSUE_SLOTS}


def activity_meanings() -> dict[str, tuple[str, str]]:
    """Return label and meaning of each activity of a matrix unit."""
    return {name: (name.replace("_", " "), meaning) for name, (_, meaning) in ACTIVITIES.items()}


def activities_of(result: Result) -> dict[str, Value]:
    """Return the share of each activity in the cycles of all matrix units."""
    units = (result["matrix_units"] or {}).values()
    total = sum(unit["cycles"] for unit in units)
    spent: dict[str, float] = {}
    for unit in units:
        for name, part in unit["breakdown"].items():
            spent[name] = spent.get(name, 0.0) + part["cycles"]
    return {name: cycles / total for name, cycles in spent.items()}


def shared_reads_of(result: Result) -> dict[str, Value]:
    """Return the bytes that each requester reads from shared memory, and their sum."""
    if result["counters"] is None:
        return {}
    reads = shared_footprint(result["counters"])
    return {"total": sum(reads.values()), **reads}


def energies_of(result: Result) -> dict[str, Value]:
    """Return the energy of each group of components in pJ."""
    energy = result["energy"]
    if energy is None:
        return {}
    return {group: sums["total_pj"] for group, sums in energy["by_group"].items()}


def shares(
    section: str,
    results: Sequence[Result | None],
    parts_of: Callable[[Result], Mapping[str, Value]],
    meanings: Mapping[str, tuple[str, str]],
    *,
    kind: str,
) -> Iterator[Figure]:
    """Yield a figure for each part of a whole, without parts that are 0 on every machine.

    A machine without a requester reads no bytes for it; an activity may have no counter, so that
    another one includes its cycles.
    """
    parts = [{} if part is None else parts_of(part) for part in results]
    names = dict.fromkeys([*meanings, *(name for part in parts for name in part)])
    for name in names:
        values = [part.get(name, 0 if part and kind != SHARE else None) for part in parts]
        if any(values):
            label, meaning = meanings.get(name, (name, name))
            yield Figure(
                section=section,
                name=name,
                label=label,
                meaning=meaning,
                kind=kind,
                values=values,
                has_ratio=kind != SHARE,
            )


def area_figures(areas: Sequence[Mapping[str, Any] | None]) -> Iterator[Figure]:
    """Yield the sums of areas, then the groups."""
    for name, (label, meaning) in AREAS.items():
        values = [None if area is None else area[name] for area in areas]
        yield Figure(
            section="area", name=name, label=label, meaning=meaning, kind=COUNT, values=values
        )
    groups = dict.fromkeys(name for area in areas if area is not None for name in area["groups"])
    for name in groups:
        yield Figure(
            section="groups",
            name=name,
            label=name,
            meaning=f"{name}, NAND2 equivalents, including SRAM",
            kind=COUNT,
            values=[None if area is None else area["groups"].get(name) for area in areas],
        )
