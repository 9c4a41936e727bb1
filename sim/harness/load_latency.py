"""Latency of core loads and cache reads: histogram and quantiles."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ...base.native_interface import NativeStructure
from .interface import HARNESS

__all__ = ["PLACES", "LoadLatency", "summed"]

#: Memories of loads, in the order of `LoadLatency::Place`.
PLACES = ("dram", "shared")


@dataclass(frozen=True)
class LoadLatency:
    """Latency of loads in cycles, from the accepted request to the last of its answers.

    Also used for the reads of a cache.

    Attributes
    ----------
    bins : tuple of int
        Loads with each number of cycles below 512, and then from each power of two to the
        next.
    least, most : int
        Cycles of the fastest and of the slowest load, 0 without loads.

    """

    bins: tuple[int, ...]
    least: int
    most: int

    @classmethod
    def of(cls, counts: NativeStructure) -> "LoadLatency":
        """Return the latency in a `LoadCounts` of the C++."""
        return cls(tuple(counts.bins), counts.least, counts.most)

    def __add__(self, other: "LoadLatency") -> "LoadLatency":
        least = [latency.least for latency in (self, other) if latency.loads]
        bins = tuple(a + b for a, b in zip(self.bins, other.bins, strict=True))
        return LoadLatency(bins, min(least, default=0), max(self.most, other.most))

    @property
    def loads(self) -> int:
        """Number of loads."""
        return sum(self.bins)

    def quantile(self, share: float) -> int:
        """Return the cycles within which this share of loads was done, rounded up to their bin."""
        if not self.loads:
            return 0
        rank = max(1, math.ceil(share * self.loads))
        place = next(place for place, so_far in enumerate(accumulate(self.bins)) if so_far >= rank)
        return min(bin_range(place)[1], self.most)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures of a result file; the histogram by the fewest cycles of each bin."""
        return {
            "count": self.loads,
            "min": self.least,
            "p50": self.quantile(0.5),
            "p99": self.quantile(0.99),
            "max": self.most,
            "histogram": {
                str(bin_range(place)[0]): count for place, count in enumerate(self.bins) if count
            },
        }


def bin_range(place: int) -> tuple[int, int]:
    """Return the first and the last cycle count of a bin."""
    fine = HARNESS.constant("LoadCounts::kFine")
    if place < fine:
        return place, place
    first = fine << (place - fine)
    return first, 2 * first - 1


def summed(parts: Sequence[LoadLatency], by: str = "core") -> dict[str, Any]:
    """Return the figures of all parts together, and those of each without its histogram."""
    figures = [part.as_dict() for part in parts]
    for part in figures:
        del part["histogram"]
    return functools.reduce(LoadLatency.__add__, parts).as_dict() | {f"by_{by}": figures}
