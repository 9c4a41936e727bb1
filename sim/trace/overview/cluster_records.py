"""Recorder of a cluster's activity over time: sums over bins of cycles, and busy intervals."""

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

#: Default maximum of bins, and of intervals per signal.
BINS = 16384
INTERVALS = 4096
NEVER = 1 << 62
#: The window of all cycles.
ALL = (0, NEVER)


class SignalKind(enum.IntEnum):
    """Port function that is summed per cycle; see sim/native/recorders/cluster_recorder.hpp."""

    VALUE = 0  #: the value of the port
    BITS = 1  #: the number of 1 bits
    EQUALS = 2  #: 1 if the port equals `RecordedSignal.code`, else 0


@dataclass(frozen=True, kw_only=True)
class RecordedSignal:
    """Signal that is sampled in every cycle.

    Parameters
    ----------
    name : str
        Name of the signal in the records.
    port : str
        Output of the top, at most 32 bits wide.
    kind : SignalKind
        Function of the port that is summed.
    code : int
        Value to compare with, for `SignalKind.EQUALS`.
    delay : int
        Cycles by which the port lags behind the event.
    has_intervals : bool
        Whether to record the intervals in which the signal is not 0.

    """

    name: str
    port: str
    kind: SignalKind = SignalKind.VALUE
    code: int = 0
    delay: int = 0
    has_intervals: bool = True


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


class Parameters(ctypes.Structure):
    """`RecordedSignal` of sim/native/recorders/cluster_recorder.hpp."""

    _fields_ = [
        (name, ctypes.c_uint32) for name in ("word", "kind", "code", "delay", "has_intervals")
    ]


class Header(ctypes.Structure):
    """`ClusterRecorderState` of sim/native/recorders/cluster_recorder.cpp."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("first", "end", "bin_cycles", "bins")]

    first: int
    end: int
    bin_cycles: int
    bins: int


class ClusterRecording:
    """Recorder in a harness, active from its next cycle on.

    Memory and time per cycle do not depend on the length of the run: bins grow as needed.

    Parameters
    ----------
    harness : Harness
        Harness of either engine.
    layout : Layout
        Port layout of the design.
    signals : iterable of RecordedSignal
        Signals to record.
    window : tuple of int
        First recorded cycle and the cycle after the last; all by default.
    bins, intervals : int
        Maximum number of bins, and of intervals per signal.

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
            raise UserError("a recording must have at least one signal, not 0")
        table = (Parameters * len(self.signals))(
            *(parameters_of(signal, layout) for signal in self.signals)
        )
        add = self.library.harness_cluster_recorder_add
        add.restype = ctypes.c_void_p
        numbers = (len(self.signals), first, end, bins, intervals)
        self.recorder = ctypes.c_void_p(add(harness.handle, table, *map(ctypes.c_uint64, numbers)))

    def fetch(self) -> ClusterRecords:
        """Return a copy of the records so far."""
        header, count = Header(), len(self.signals)
        self.library.cluster_recorder_state(
            self.recorder, ctypes.c_uint64(count), ctypes.byref(header)
        )
        # The recorder stores no sums for trailing bins without activity.
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
        """Return the intervals of a signal and the minimum gap between them."""
        gap, which = ctypes.c_uint64(), ctypes.c_uint64(number)
        size = self.library.cluster_recorder_intervals
        size.restype = ctypes.c_uint64
        found = np.empty((size(self.recorder, which, ctypes.byref(gap)), 2), np.int64)
        self.library.cluster_recorder_copy(self.recorder, which, ctypes.c_void_p(found.ctypes.data))
        return found, gap.value


def parameters_of(signal: RecordedSignal, layout: Layout) -> Parameters:
    """Return the C++ parameters of a signal."""
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
