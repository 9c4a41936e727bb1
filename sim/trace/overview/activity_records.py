"""Recorded activity of a cluster: sums over bins of cycles, and busy intervals."""

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ....base.native_interface import NativeLibrary, NativeStructure
from ....hw.config.checks import require_integer
from ...harness.interface import HARNESS
from ..window import require_window

__all__ = [
    "ALL",
    "BINS",
    "INTERVALS",
    "ClusterRecords",
    "fetched",
    "merged",
    "recording_limits",
]

#: Default maximum of bins, and of intervals per signal.
BINS = 16384
INTERVALS = 4096
NEVER = 1 << 62
#: The window of all cycles.
ALL = (0, NEVER)


@dataclass(frozen=True)
class ClusterRecords:
    """Recorded activity; cycles count from the creation of the recording.

    Attributes
    ----------
    first, end : int
        The first cycle, and the one after the last.
    bin_cycles : int
        Cycles of a bin, a power of two; the last bin may have fewer.
    sums : dict of str to numpy.ndarray
        Sum of each signal in each bin, as uint32.
    intervals : dict of str to numpy.ndarray
        Intervals of each signal that has them, int64 of shape (n, 2): first cycle, and the cycle
        after the last.
    gaps : dict of str to int
        Minimum gap per signal: intervals fewer cycles apart are merged; 1 if all are exact.

    """

    first: int
    end: int
    bin_cycles: int
    sums: dict[str, np.ndarray]
    intervals: dict[str, np.ndarray] = field(default_factory=dict)
    gaps: dict[str, int] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """Number of bins."""
        return -(-(self.end - self.first) // self.bin_cycles)

    def total(self, name: str) -> int:
        """Return the sum of a signal over all bins."""
        return int(self.sums[name].sum(dtype=np.uint64))


def recording_limits(window: tuple[int, int], bins: int, intervals: int) -> NativeStructure:
    """Return the limits of a recorder; raise `UserError` if there is nothing to record.

    `window` has the first cycle and the cycle after the last; `bins` and `intervals` are the most
    bins, and the most intervals per series.
    """
    require_window(window, NEVER)
    require_integer("bins", bins, 2, 1 << 24)
    require_integer("intervals", intervals, 2, 1 << 24)
    first, end = window
    return HARNESS.structure("RecordingLimits")(
        first=first, end=end, bins=bins, intervals=intervals
    )


def fetched(
    library: NativeLibrary,
    recorder: int,
    names: Sequence[str],
    with_intervals: Collection[str],
) -> ClusterRecords:
    """Return a copy of the records of a recorder whose series have these names."""
    header = library.activity_state(recorder)
    # The recorder stores no sums for trailing bins without activity.
    bins = -(-(header.end - header.first) // header.bin_cycles)
    sums = np.zeros((bins, len(names)), np.uint32)
    library.activity_sums(recorder, sums)
    records = ClusterRecords(
        first=header.first,
        end=header.end,
        bin_cycles=header.bin_cycles,
        sums={name: sums[:, k].copy() for k, name in enumerate(names)},
    )
    for number, name in enumerate(names):
        if name in with_intervals:
            intervals, gap = fetched_intervals(library, recorder, number)
            records.intervals[name], records.gaps[name] = intervals, gap
    return records


def fetched_intervals(library: NativeLibrary, recorder: int, number: int) -> tuple[np.ndarray, int]:
    """Return the intervals of a series and the minimum gap between them."""
    gap = ctypes.c_uint64()
    intervals = np.empty((library.activity_intervals(recorder, number, gap), 2), np.int64)
    library.activity_copy(recorder, number, intervals)
    return intervals, gap.value


def merged(records: ClusterRecords, others: Sequence[ClusterRecords]) -> ClusterRecords:
    """Return records of one run together, in bins of the longest of their lengths.

    All have the cycles of the first.
    """
    bin_cycles = max(part.bin_cycles for part in (records, *others))
    sums: dict[str, np.ndarray] = {}
    intervals, gaps = dict(records.intervals), dict(records.gaps)
    for part in (records, *others):
        sums |= joined_bins(part.sums, bin_cycles // part.bin_cycles)
        intervals |= part.intervals
        gaps |= part.gaps
    return replace(records, bin_cycles=bin_cycles, sums=sums, intervals=intervals, gaps=gaps)


def joined_bins(sums: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Return sums over `count` bins each."""
    return {
        name: np.add.reduceat(values, np.arange(0, len(values), count), dtype=np.uint32)
        if len(values)
        else values
        for name, values in sums.items()
    }
