"""Event energies: energy of each block per clocked cycle and per event, in a data file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from math import log
from pathlib import Path
from typing import Any

from ...synth.clocked_parts import ClockedPart
from .event_table import EventCounts

__all__ = [
    "DATA",
    "SAME",
    "SIMILAR",
    "STALE",
    "BlockEnergies",
    "EventEnergies",
    "Found",
    "read_energies",
    "text_of",
]

DATA = Path(__file__).with_name("event_energies.json")
#: How the data of a block relate to it.
SAME, STALE, SIMILAR = "same", "stale", "similar"
SCHEMA, VERSION = "spica.event_energies", 1
#: Significant digits of figures in the file.
DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class BlockEnergies:
    """Energies of the instances of a block in a group.

    Parameters
    ----------
    block, group, kind, digest, size
        As in `ClockedPart`.
    leakage_nw : float
        Leakage power of an instance in nW.
    clock_pj : float
        Energy of the clock pins of an instance in pJ per clocked cycle.
    logic_cycle_pj, memory_cycle_pj : float
        Energy of logic, and of accesses to memories, of an instance in pJ per clocked cycle
        without an event.
    logic_pj, memory_pj : mapping of str to float
        The same in pJ per event, as `EventCounts.count` counts it.
    internal_share : float
        Share of the internal energy of cells in that of logic.
    runs : int
        Runs that these are fitted to.
    spread : float
        Standard deviation of the dynamic energy of these runs from the fit, relative to their mean.

    """

    block: str
    group: str
    kind: str | None
    digest: str
    size: int
    leakage_nw: float
    clock_pj: float
    logic_cycle_pj: float
    memory_cycle_pj: float
    logic_pj: Mapping[str, float] = field(default_factory=dict)
    memory_pj: Mapping[str, float] = field(default_factory=dict)
    internal_share: float
    runs: int
    spread: float

    def logic(self, part: ClockedPart, counts: EventCounts) -> float:
        """Return the energy of logic in a run in pJ."""
        return energy(self.logic_cycle_pj, self.logic_pj, part, counts)

    def memory(self, part: ClockedPart, counts: EventCounts) -> float:
        """Return the energy of accesses to memories in a run in pJ."""
        return energy(self.memory_cycle_pj, self.memory_pj, part, counts)

    def clock(self, part: ClockedPart, counts: EventCounts) -> float:
        """Return the energy of clock pins in a run in pJ."""
        return self.clock_pj * counts.clocked_cycles(part)

    def dynamic(self, part: ClockedPart, counts: EventCounts) -> float:
        """Return the sum of these in pJ."""
        return self.logic(part, counts) + self.memory(part, counts) + self.clock(part, counts)


def energy(
    cycle_pj: float, event_pj: Mapping[str, float], part: ClockedPart, counts: EventCounts
) -> float:
    """Return the energy of clocked cycles and of events."""
    events = sum(each * counts.count(part, name) for name, each in event_pj.items())
    return cycle_pj * counts.clocked_cycles(part) + events


@dataclass(frozen=True)
class Found:
    """Energies that stand for a part.

    Parameters
    ----------
    energies : BlockEnergies
        The energies.
    relation : str
        `SAME`; `STALE` for a block of the same name whose RTL has changed; `SIMILAR` for another
        config of the same class.

    """

    energies: BlockEnergies
    relation: str


@dataclass(frozen=True, kw_only=True)
class EventEnergies:
    """Contents of the data file.

    Parameters
    ----------
    source : mapping
        Command, files and versions of the fit.
    presets : mapping
        Runs of each preset with their differences from gates, and factors of other data.
    blocks : sequence of BlockEnergies
        Energies of the blocks.

    """

    source: Mapping[str, Any]
    presets: Mapping[str, Any]
    blocks: Sequence[BlockEnergies]

    def find(self, part: ClockedPart) -> Found | None:
        """Return the energies that stand for a part; None without any."""
        group = [each for each in self.blocks if each.group == part.group]
        same = [each for each in group if each.digest == part.digest]
        if same:
            return Found(min(same, key=lambda each: each.block != part.block), SAME)
        stale = [each for each in group if each.block == part.block]
        if stale:
            return Found(stale[0], STALE)
        similar = [each for each in group if part.kind is not None and each.kind == part.kind]
        if similar:
            nearest = min(similar, key=lambda each: abs(log(each.size / part.size)))
            return Found(nearest, SIMILAR)
        return None


def text_of(energies: EventEnergies) -> str:
    """Return the text of the data file, a block per line."""
    blocks = sorted(energies.blocks, key=lambda each: (each.group, each.block))
    rows = ",\n".join(json.dumps(rounded(asdict(each))) for each in blocks)
    presets = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(rounded(each))}"
        for name, each in sorted(energies.presets.items())
    )
    head = json.dumps({"schema": SCHEMA, "schema_version": VERSION, "source": energies.source})
    return f'{head[:-1]},\n"presets": {{\n{presets}\n}},\n"blocks": [\n{rows}\n]}}\n'


def rounded(value: Any) -> Any:
    """Return a value for JSON with all its numbers rounded to `DIGITS`."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return value


@cache
def read_energies(path: Path = DATA) -> EventEnergies:
    """Return the contents of a data file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return EventEnergies(
        source=found["source"], presets=found["presets"], blocks=blocks_of(found["blocks"])
    )


def blocks_of(rows: Iterable[Mapping[str, Any]]) -> list[BlockEnergies]:
    """Return the blocks of the file."""
    return [BlockEnergies(**row) for row in rows]
