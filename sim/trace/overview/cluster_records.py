"""Recorder of a cluster's signals over time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....base.errors import UserError
from ....base.native_interface import NativeStructure
from ...harness.binding import Layout
from ...harness.harness import Harness
from ...harness.interface import HARNESS
from .activity_records import ALL, BINS, INTERVALS, ClusterRecords, fetched, recording_limits

__all__ = ["ClusterRecording", "RecordedSignal"]


@dataclass(frozen=True, kw_only=True)
class RecordedSignal:
    """Signal that is sampled in every cycle.

    Parameters
    ----------
    name : str
        Name of the signal in the records.
    port : str
        Output of the top, at most 32 bits wide.
    kind : str
        Function of the port that is summed, in lower case of `SignalKind` of the C++: ``value``,
        ``bits``, the number of 1 bits, ``equals``, 1 if the port equals `code`, or
        ``unit``, 1 if an execution unit has an instruction.
    code : int
        Value to compare with; of a unit the number of the core times `CoreState::kPorts`, plus the
        `Port`.
    delay : int
        Cycles by which the port lags behind the event.
    has_intervals : bool
        Whether to record the intervals in which the signal is not 0.

    """

    name: str
    port: str
    kind: str = "value"
    code: int = 0
    delay: int = 0
    has_intervals: bool = True


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
        limits = recording_limits(window, bins, intervals)
        if not self.signals:
            raise UserError("a recording must have at least one signal, not 0")
        count = len(self.signals)
        table = (HARNESS.structure("RecordedSignal") * count)(
            *(parameters_of(signal, layout) for signal in self.signals)
        )
        add = self.library.harness_cluster_recorder_add
        self.recorder = add(harness.handle, table, count, limits)

    def fetch(self) -> ClusterRecords:
        """Return a copy of the records so far."""
        names = [signal.name for signal in self.signals]
        with_intervals = {signal.name for signal in self.signals if signal.has_intervals}
        return fetched(self.library, self.recorder, names, with_intervals)


def parameters_of(signal: RecordedSignal, layout: Layout) -> NativeStructure:
    """Return the C++ parameters of a signal."""
    port = next((port for port in layout.outputs if port.name == signal.port), None)
    if port is None:
        raise UserError(f"{signal.port} must be an output of the design to be recorded")
    if port.width > 32:
        raise UserError(f"{signal.port} must have at most 32 bits to be recorded, not {port.width}")
    return HARNESS.structure("RecordedSignal")(
        word=port.word,
        kind=HARNESS.enumeration("SignalKind")[f"k{signal.kind.capitalize()}"],
        code=signal.code,
        delay=signal.delay,
        has_intervals=signal.has_intervals,
    )
