"""Golden model of the cluster barrier, cycle by cycle: accepted, refused, released cores."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Arrival", "ClusterBarrierModel", "Grant"]


@dataclass(frozen=True)
class Arrival:
    """Request of a core: all its warps have arrived at a barrier of `count` cores."""

    barrier: int
    count: int


@dataclass(frozen=True)
class Grant:
    """Result of a cycle: the core whose request is accepted, and whether it is refused or opens."""

    core: int | None = None
    refused: bool = False
    opens: bool = False


class ClusterBarrierModel:
    """Barriers across cores; see `ClusterBarrier`.

    Attributes
    ----------
    waiting : list of set of int
        Cores at each barrier.

    """

    def __init__(self, cores: int, barriers: int):
        self.cores = cores
        self.waiting: list[set[int]] = [set() for _ in range(barriers)]
        self.counts = [0] * barriers
        self.last = cores - 1  # core whose request was accepted last

    def step(self, requests: Sequence[Arrival | None]) -> Grant:
        """Accept the next request after the one accepted last, in circular order."""
        circle = [(self.last + 1 + k) % self.cores for k in range(self.cores)]
        core = next((core for core in circle if requests[core] is not None), None)
        if core is None:
            return Grant()
        self.last = core
        arrival = requests[core]
        assert arrival is not None
        here = self.waiting[arrival.barrier]
        assert core not in here, "a core arrives at most once at a barrier"
        if here and self.counts[arrival.barrier] != arrival.count:
            return Grant(core, refused=True)
        self.counts[arrival.barrier] = arrival.count
        here.add(core)
        if len(here) < arrival.count:
            return Grant(core)
        here.clear()
        return Grant(core, opens=True)
