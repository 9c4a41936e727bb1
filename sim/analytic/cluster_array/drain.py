"""Drain of results: reads of the accumulator and writes to DRAM, one column block after another."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..transfers import Store
from . import program as timing

__all__ = ["DrainProfile", "drain_profile"]


@dataclass(frozen=True, kw_only=True)
class DrainProfile:
    """Course of an undisturbed drain, in cycles after its start.

    Parameters
    ----------
    read : tuple of float
        When the last row of each column block is read.
    tail : float
        Delay of the last write by the L2, after the last read.
    alone : float
        Duration of the last column block if the drain pauses before it.

    """

    read: tuple[float, ...]
    tail: float
    alone: float


@lru_cache(maxsize=4096)
def drain_profile(stores: tuple[Store, ...], latency: int) -> DrainProfile:
    """Return the course of a drain to DRAM of a latency, by the stores of its column blocks."""
    read, cycle, tail = [], 0.0, 0.0
    slices: list[list[float]] = [[] for _ in stores[0].lines]
    for store in stores:
        cycle, tail = drain_block(store, slices, latency, cycle)
        read.append(cycle)
    alone, _ = drain_block(stores[-1], [[] for _ in stores[0].lines], latency, 0.0)
    return DrainProfile(read=tuple(read), tail=tail, alone=alone)


def drain_block(
    store: Store, slices: Sequence[list[float]], latency: int, cycle: float
) -> tuple[float, float]:
    """Return when the last row of a block is read, and the delay of its last write by the L2.

    `slices` has the cycles in which each slice of the L2 accepted its writes. A slice has
    `WRITE_WINDOW` writes in flight, and `WRITE_QUEUE` more wait before it.
    """
    accepted = cycle
    for master in order_of(store.lines):
        writes = slices[master]
        cycle += store.cycles / sum(store.lines)
        if len(writes) >= timing.WRITE_QUEUE:
            cycle = max(cycle, writes[-timing.WRITE_QUEUE])
        accepted = max(cycle, writes[-1] + 1) if writes else cycle
        if len(writes) >= timing.WRITE_WINDOW:
            freed = writes[-timing.WRITE_WINDOW] + latency + timing.WRITE_ROUND_TRIP
            accepted = max(accepted, freed)
        writes.append(accepted)
    return cycle, accepted - cycle


def order_of(lines: Sequence[int]) -> list[int]:
    """Return the masters of the writes of a block in order; those of a master are spread evenly."""
    places = (
        ((number + 0.5) / count, master)
        for master, count in enumerate(lines)
        for number in range(count)
    )
    return [master for _, master in sorted(places)]
