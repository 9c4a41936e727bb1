"""Event energies of the groups of a machine, in a data file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .event_table import EventBlock, EventCounts

__all__ = ["DATA", "EventEnergies", "GroupEnergies", "read_energies", "text_of"]

DATA = Path(__file__).with_name("event_energies.json")
SCHEMA, VERSION = "spica.event_energies", 2
#: Significant digits of figures in the file.
DIGITS = 3


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
    clock_pj: Mapping[str, float]
    logic_pj: Mapping[str, float]
    memory_pj: Mapping[str, float]
    internal_share: float

    def dynamic(self, block: EventBlock, counts: EventCounts) -> float:
        """Return the energy in a run in pJ without leakage, clocks withheld in idle cycles."""
        energies = (self.clock_pj, self.logic_pj, self.memory_pj)
        return sum(counts.energy(block, each) for each in energies)


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
        group: {config: asdict(each) for config, each in rows.items()}
        for group, rows in energies.groups.items()
    }
    head = json.dumps({"schema": SCHEMA, "schema_version": VERSION, "source": energies.source})
    presets = lines(energies.presets)
    return f'{head[:-1]},\n"presets": {presets},\n"groups": {lines(groups, lines)}}}\n'


def lines(found: Mapping[str, Any], text: Callable[[Any], str] = json.dumps) -> str:
    """Return a mapping as JSON, a key per line."""
    rows = (f"{json.dumps(key)}: {text(rounded(each))}" for key, each in sorted(found.items()))
    return "{\n" + ",\n".join(rows) + "\n}"


def rounded(value: Any) -> Any:
    """Return a value for JSON with all its numbers rounded to `DIGITS`."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return value


@cache
def read_energies(path: Path = DATA) -> EventEnergies:
    """Return the contents of a data file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    groups = {
        group: {config: GroupEnergies(**row) for config, row in rows.items()}
        for group, rows in found["groups"].items()
    }
    return EventEnergies(source=found["source"], presets=found["presets"], groups=groups)
