"""Event energies of the groups of a machine, in a data file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .event_table import EventBlock, EventCounts

__all__ = [
    "DATA",
    "RECONSTRUCTED",
    "EventEnergies",
    "GroupEnergies",
    "energies_in",
    "read_energies",
    "text_of",
]

DATA = Path(__file__).with_name("event_energies.json")
SCHEMA, VERSION = "spica.event_energies", 2
#: Significant digits of figures in the file.
DIGITS = 3
#: Entry of the source: presets whose runs from gates are reconstructed from an earlier fit.
RECONSTRUCTED = "reconstructed"


@dataclass(frozen=True, kw_only=True)
class GroupEnergies:
    """Energies of a group with one config.

    Parameters
    ----------
    leakage_nw : float
        Leakage power of an instance in nW.
    clock_pj : mapping of str to float
        Energy of the clock pins of an instance in pJ per clocked cycle, by domain as in
        ``core_cycles``.
    logic_pj, memory_pj : mapping of str to float
        Energy of logic, and of accesses to memories, in pJ per event and per clocked cycle.
    internal_share : float
        Share of the internal energy of cells in that of logic.

    """

    leakage_nw: float
    clock_pj: Mapping[str, float] = field(default_factory=dict)
    logic_pj: Mapping[str, float] = field(default_factory=dict)
    memory_pj: Mapping[str, float] = field(default_factory=dict)
    internal_share: float

    def dynamic(self, block: EventBlock, counts: EventCounts) -> float:
        """Return the energy in a run in pJ without leakage, clocks withheld in idle cycles."""
        energies = (self.clock_pj, self.logic_pj, self.memory_pj)
        return sum(counts.energy(block, part) for part in energies)


@dataclass(frozen=True, kw_only=True)
class EventEnergies:
    """Contents of the data file.

    Parameters
    ----------
    source : mapping
        Command, files and versions of the fit.
    presets : mapping
        Differences of each preset from gates, and factors of other data.
    groups : mapping
        Energies of each group by config.

    """

    source: Mapping[str, Any]
    presets: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, GroupEnergies]]

    def find(self, block: EventBlock) -> GroupEnergies | None:
        """Return the energies of a block; None without any."""
        return self.groups.get(block.group, {}).get(block.config)


def text_of(energies: EventEnergies) -> str:
    """Return the text of the data file, a config of a group per line."""
    groups = {
        group: {config: row_of(energies) for config, energies in rows.items()}
        for group, rows in energies.groups.items()
    }
    head = json.dumps({"schema": SCHEMA, "schema_version": VERSION, "source": energies.source})
    presets = lines(energies.presets)
    return f'{head[:-1]},\n"presets": {presets},\n"groups": {lines(groups, lines)}}}\n'


def row_of(energies: GroupEnergies) -> dict[str, Any]:
    """Return energies for JSON; mappings without entries are left out."""
    return {name: value for name, value in asdict(energies).items() if value != {}}


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def lines(rows_by_key: Mapping[str, Any], text: Callable[[Any], str] = compact) -> str:
    """Return a mapping as JSON, a key per line."""
    rows = (
        f"{json.dumps(key)}: {text(rounded(value))}" for key, value in sorted(rows_by_key.items())
    )
    return "{\n" + ",\n".join(rows) + "\n}"


def rounded(value: Any) -> Any:
    """Return a value for JSON with all its numbers rounded to `DIGITS`, and whole ones as such."""
    if isinstance(value, float):
        number = float(f"{value:.{DIGITS}g}")
        return int(number) if number.is_integer() else number
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return value


def energies_in(text: str) -> EventEnergies:
    """Return the contents of the text of a data file."""
    content = json.loads(text)
    groups = {
        group: {config: GroupEnergies(**row) for config, row in rows.items()}
        for group, rows in content["groups"].items()
    }
    return EventEnergies(source=content["source"], presets=content["presets"], groups=groups)


@cache
def read_energies(path: Path = DATA) -> EventEnergies:
    """Return the contents of a data file."""
    return energies_in(path.read_text(encoding="utf-8"))
