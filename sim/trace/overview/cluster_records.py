"""What the blocks of a cluster did over time, as a recorder kept it: sums over bins, intervals."""

import ctypes
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....hw.base.errors import UserError
from ....hw.config.checks import require_integer
from ...harness.binding import Layout
from ...harness.harness import Harness

__all__ = [
    "BINS",
    "INTERVALS",
    "ClusterRecording",
    "ClusterRecords",
    "RecordedSignal",
    "SignalKind",
]

#: How many bins and, of one signal, how many intervals are kept unless said otherwise.
BINS = 16384
INTERVALS = 4096
NEVER = 1 << 62
#: The window of all cycles.
ALL = (0, NEVER)


class SignalKind(enum.IntEnum):
    """What of a port counts in a cycle; see native/cluster_recorder.hpp."""

    VALUE = 0  #: its value
    BITS = 1  #: how many of its bits are 1
    EQUALS = 2  #: whether it has one certain value


@dataclass(frozen=True, kw_only=True)
class RecordedSignal:
    """Something that is looked at in every cycle.

    Parameters
    ----------
    name : str
        What it is called among the records.
    port : str
        An output of the top of at most 32 bits.
    kind : SignalKind
        What of it counts.
    code : int
        With `SignalKind.EQUALS`, the value that counts.
    delay : int
        Cycles after which the port tells it.
    has_intervals : bool
        Whether the intervals in which it is not 0 are kept.

    """

    name: str
    port: str
    kind: SignalKind = SignalKind.VALUE
    code: int = 0
    delay: int = 0
    has_intervals: bool = True


@dataclass(frozen=True)
class ClusterRecords:
    """What was recorded; cycles count from when the recording was made.

    Attributes
    ----------
    first, end : int
        The first cycle, and the one after the last.
    bin_cycles : int
        Cycles of a bin, a power of two; the last bin may have fewer.
    sums : dict of str to numpy.ndarray
        For each signal what it came to in each bin, as uint32.
    intervals : dict of str to numpy.ndarray
        For a signal whose intervals are kept, int64 of shape (n, 2): where each begins, and the
        cycle behind its end.
    gaps : dict of str to int
        Intervals of the signal with fewer cycles than these between them are one; 1: all are exact.

    """

    first: int
    end: int
    bin_cycles: int
    sums: dict[str, np.ndarray]
    intervals: dict[str, np.ndarray] = field(default_factory=dict)
    gaps: dict[str, int] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return -(-(self.end - self.first) // self.bin_cycles)

    def total(self, name: str) -> int:
        """Return what a signal came to in all."""
        return int(self.sums[name].sum(dtype=np.uint64))


class Parameters(ctypes.Structure):
    """`RecordedSignal` of native/cluster_recorder.hpp."""

    _fields_ = [
        (name, ctypes.c_uint32) for name in ("word", "kind", "code", "delay", "has_intervals")
    ]


class Header(ctypes.Structure):
    """`ClusterRecorderState` of native/cluster_recorder.cpp."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("first", "end", "bin_cycles", "bins")]

    first: int
    end: int
    bin_cycles: int
    bins: int


class ClusterRecording:
    """A recorder in a harness, from its next cycle on.

    What it costs in memory and time does not depend on how long a run is: bins grow as needed.

    Parameters
    ----------
    harness : Harness
        Of either engine.
    layout : Layout
        Of the design.
    signals : iterable of RecordedSignal
        What is recorded.
    window : tuple of int
        The first cycle recorded, and the cycle behind the last; all by default.
    bins, intervals : int
        At most so many bins, and so many intervals of a signal.

    """

    def __init__(
        self,
        harness: Harness,
        layout: Layout,
        signals: Iterable[RecordedSignal],
        *,
        window: tuple[int, int] = ALL,
        bins: int = BINS,
        intervals: int = INTERVALS,
    ):
        self.signals: Sequence[RecordedSignal] = tuple(signals)
        self.library = harness.library
        first, end = window
        require_integer("first cycle", first, 0, NEVER)
        require_integer("bins", bins, 2, 1 << 24)
        require_integer("intervals", intervals, 2, 1 << 24)
        if end <= first:
            raise UserError(
                f"the window must end after it begins, not be cycles {first} to {end - 1}"
            )
        if not self.signals:
            raise UserError("a recording needs signals, and there are none")
        table = (Parameters * len(self.signals))(
            *(parameters_of(signal, layout) for signal in self.signals)
        )
        add = self.library.harness_cluster_recorder_add
        add.restype = ctypes.c_void_p
        numbers = (len(self.signals), first, end, bins, intervals)
        self.recorder = ctypes.c_void_p(add(harness.handle, table, *map(ctypes.c_uint64, numbers)))

    def fetch(self) -> ClusterRecords:
        """Return a copy of what has been recorded so far."""
        header, count = Header(), len(self.signals)
        self.library.cluster_recorder_state(
            self.recorder, ctypes.c_uint64(count), ctypes.byref(header)
        )
        # Where nothing happened at the end, there are no sums.
        bins = -(-(header.end - header.first) // header.bin_cycles)
        sums = np.zeros((bins, count), np.uint32)
        self.library.cluster_recorder_sums(self.recorder, ctypes.c_void_p(sums.ctypes.data))
        records = ClusterRecords(
            first=header.first,
            end=header.end,
            bin_cycles=header.bin_cycles,
            sums={signal.name: sums[:, k].copy() for k, signal in enumerate(self.signals)},
        )
        for number, signal in enumerate(self.signals):
            if signal.has_intervals:
                found, gap = self.fetch_intervals(number)
                records.intervals[signal.name], records.gaps[signal.name] = found, gap
        return records

    def fetch_intervals(self, number: int) -> tuple[np.ndarray, int]:
        """Return the intervals of a signal, and how near to each other they cannot be."""
        gap, which = ctypes.c_uint64(), ctypes.c_uint64(number)
        size = self.library.cluster_recorder_intervals
        size.restype = ctypes.c_uint64
        found = np.empty((size(self.recorder, which, ctypes.byref(gap)), 2), np.int64)
        self.library.cluster_recorder_copy(self.recorder, which, ctypes.c_void_p(found.ctypes.data))
        return found, gap.value


def parameters_of(signal: RecordedSignal, layout: Layout) -> Parameters:
    """Return how the recorder is told of a signal."""
    port = next((port for port in layout.outputs if port.name == signal.port), None)
    if port is None:
        raise UserError(f"{signal.port} must be an output of the design to be recorded")
    if port.width > 32:
        raise UserError(f"{signal.port} must have at most 32 bits to be recorded, not {port.width}")
    return Parameters(
        word=port.word,
        kind=signal.kind,
        code=signal.code,
        delay=signal.delay,
        has_intervals=signal.has_intervals,
    )
