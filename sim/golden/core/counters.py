"""Golden model of a core's performance counters: sums of the events of each cycle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.csr import COUNTERS
from ....hw.isa.operations import Port

__all__ = ["CounterModel", "Cycle"]


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """Events of one cycle of a core.

    Parameters
    ----------
    busy : bool
        True if the core is awake.
    slept : int
        Cycles before this one in which it was asleep.
    slots : sequence of int
        `StallReason` of each issue slot, of this same cycle.
    operations : sequence of Port
        Ports whose units accept an operation.
    is_store : bool
        True if the operation of `Port.MEMORY` is a store.
    requests, fetches : int
        Requests accepted by data and instruction memory.
    done : sequence of int
        Thread mask of each completed instruction.
    reads, writes, read_conflicts, write_conflicts : int
        Banks that read; that write; with a waiting collector; with a waiting bus.
    occupied, snooped : int
        Collectors in use; operands taken from buses.
    splits : int
        Divergent splits.

    """

    busy: bool = True
    slept: int = 0
    slots: Sequence[int] = ()
    operations: Sequence[Port] = ()
    is_store: bool = False
    requests: int = 0
    fetches: int = 0
    done: Sequence[int] = ()
    reads: int = 0
    writes: int = 0
    read_conflicts: int = 0
    write_conflicts: int = 0
    occupied: int = 0
    snooped: int = 0
    splits: int = 0

    def count(self) -> Counter[str]:
        """Return the increments of this cycle, by counter."""
        added = Counter(
            cycles=self.busy + self.slept,
            instructions=len(self.done),
            thread_instructions=sum(mask.bit_count() for mask in self.done),
            memory_requests=self.requests,
            fetches=self.fetches,
            register_reads=self.reads,
            register_writes=self.writes,
            read_conflicts=self.read_conflicts,
            write_conflicts=self.write_conflicts,
            operands_snooped=self.snooped,
            collectors_occupied=self.occupied,
            divergent_splits=self.splits,
            slots_barrier=self.slept * len(self.slots),
        )
        added.update(f"slots_{StallReason(slot).name.lower()}" for slot in self.slots if self.busy)
        for port in self.operations:
            if port is Port.MEMORY:
                added["stores" if self.is_store else "loads"] += 1
            else:
                added[f"operations_{port.name.lower()}"] += 1
        return added


class CounterModel:
    """Golden model of `CoreCounters`: sums of the events of all cycles.

    Attributes
    ----------
    counters : dict of str to int
        Value of each of `COUNTERS` without any delay.

    """

    def __init__(self):
        self.counters = dict.fromkeys(COUNTERS, 0)

    def step(self, cycle: Cycle) -> None:
        """Count a cycle."""
        for name, added in cycle.count().items():
            self.counters[name] += added
