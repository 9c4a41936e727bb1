"""Energy of a design in a run: sums of its blocks by group, from samples of their instances."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..groups import GROUPS
from ..measure import OTHER
from .batches import standard_error
from .block_model import InstanceEnergy
from .sampling import Part

__all__ = [
    "PartEnergy",
    "PowerSum",
    "energy_error",
    "part_energy",
    "parts_by_group",
    "total_energy",
]


@dataclass(frozen=True, kw_only=True)
class PowerSum:
    """Energy per cycle, and leakage.

    Parameters
    ----------
    internal, switching : float
        Energy of cells due to toggles, and of nets, in pJ per cycle.
    clock, ungated_clock : float
        Energy of clock pins in pJ per cycle, with clocks withheld in idle cycles, and with a clock
        in every cycle.
    memory : float
        Energy of accesses to memories in pJ per cycle.
    leakage, memory_leakage : float
        Leakage power of cells and of memories in nW.

    """

    internal: float = 0.0
    switching: float = 0.0
    clock: float = 0.0
    ungated_clock: float = 0.0
    memory: float = 0.0
    leakage: float = 0.0
    memory_leakage: float = 0.0

    @property
    def dynamic(self) -> float:
        """Energy in pJ per cycle without leakage, clocks withheld in idle cycles."""
        return self.internal + self.switching + self.clock + self.memory

    @property
    def ungated(self) -> float:
        """The same with a clock in every cycle."""
        return self.dynamic - self.clock + self.ungated_clock

    def __add__(self, other: "PowerSum") -> "PowerSum":
        return PowerSum(**{
            term.name: getattr(self, term.name) + getattr(other, term.name) for term in fields(self)
        })


@dataclass(frozen=True, kw_only=True)
class PartEnergy:
    """Energy of all instances of a block in a group.

    Parameters
    ----------
    part : Part
        The instances.
    power : PowerSum
        Their sum, by the mean of the samples; only leakage if no window counts.
    sampled : int
        Instances sampled.
    windows, counting : int
        Windows of these, and those of them that count.
    cycles : int
        Cycles of the windows that count.
    reads, writes : float
        Accesses to memories per cycle.
    errors : array of float
        For each batch of windows, how far the energy per cycle of all windows would move in pJ if
        they were like this batch. All parts of a machine have the same batches. Empty if the energy
        is not from windows.
    differing : tuple of str
        Signals that differ in the other windows.

    """

    part: Part
    power: PowerSum
    sampled: int
    windows: int
    counting: int
    cycles: int
    reads: float
    writes: float
    errors: NDArray[np.float64]
    differing: tuple[str, ...]


def part_energy(
    part: Part,
    samples: Sequence[InstanceEnergy],
    cycles: int,
    clocked_cycles: Sequence[int] | None = None,
) -> PartEnergy:
    """Return the energy of all instances of a part from samples of them, one or more.

    Parameters
    ----------
    part : Part
        The instances.
    samples : sequence of InstanceEnergy
        Energies of some of them in windows.
    cycles : int
        Cycles of the run.
    clocked_cycles : sequence of int or None
        Clocked cycles of each instance in the run, if known. The samples are then scaled by these
        instead of all cycles: an idle block consumes hardly anything, and windows hit idle times by
        chance.

    """
    sampled = sum(sample.cycles for sample in samples)
    rate = len(part.instances) / max(1, sampled)
    ungated = rate * sum(sample.logic.ungated_clock for sample in samples)
    clocked = sum(sample.clocked_cycles for sample in samples)
    batches = sum((sample.batches for sample in samples[1:]), samples[0].batches)
    is_scaled = False
    if clocked_cycles is not None and clocked:
        is_scaled, rate = True, sum(clocked_cycles) / (clocked * cycles)
    certain = min(1.0, sampled / (len(samples) * cycles))
    power = PowerSum(
        internal=rate * sum(sample.logic.internal for sample in samples),
        switching=rate * sum(sample.logic.switching for sample in samples),
        clock=rate * sum(sample.logic.clock for sample in samples),
        ungated_clock=ungated,
        memory=rate * sum(sample.memory for sample in samples),
        leakage=len(part.instances) * samples[0].logic.leakage,
        memory_leakage=len(part.instances) * samples[0].memory_leakage,
    )
    return PartEnergy(
        part=part,
        power=power,
        sampled=len(samples),
        windows=sum(sample.windows for sample in samples),
        counting=sum(sample.counting for sample in samples),
        cycles=sampled,
        reads=rate * sum(sample.reads for sample in samples),
        writes=rate * sum(sample.writes for sample in samples),
        errors=rate * batches.errors(is_scaled) * sqrt(1 - certain),
        differing=tuple(sorted({name for sample in samples for name in sample.differing})),
    )


def parts_by_group(parts: Iterable[PartEnergy]) -> dict[str, list[PartEnergy]]:
    """Return the parts of each group, in the order of `GROUPS`."""
    by_group: dict[str, list[PartEnergy]] = {group: [] for group in (*GROUPS, OTHER)}
    for part in parts:
        by_group[part.part.group].append(part)
    return {group: own for group, own in by_group.items() if own}


def total_energy(parts: Iterable[PartEnergy]) -> PowerSum:
    """Return the sum of all parts."""
    return sum((part.power for part in parts), PowerSum())


def energy_error(parts: Sequence[PartEnergy]) -> float | None:
    """Return the standard error of the energy of some parts in pJ per cycle, due to windows.

    None without windows, or with fewer than eight batches of them. Instances that are not sampled
    are not part of it.
    """
    return standard_error(np.sum([part.errors for part in parts], axis=0)) if parts else None
