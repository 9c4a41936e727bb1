"""Flush control of the L2 caches: write-back at the end of a run and on the host's request."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["FlushControl", "FlushSignature", "RunProgressSignature"]


class FlushSignature(wiring.Signature):
    """Flush of all L2 slices.

    Members
    -------
    flush : Out(1)
        High until all have `flushed`.
    flushed : In(slices)
    """

    def __init__(self, slices: int):
        super().__init__({"flush": Out(1), "flushed": In(slices)})


class RunProgressSignature(wiring.Signature):
    """Progress of a run, and flushes for it, seen from run control.

    Members
    -------
    start : Out(1)
        The cores have been started.
    busy : Out(1)
        A core is busy.
    units_busy : Out(1)
        A unit that works for the cores is busy.
    faulty : Out(1)
        A core has faulted.
    request : Out(1)
        The host requests a flush.
    requested : In(1)
        A flush requested by the host is pending.
    runs : In(1)
        A run has begun and its flush is not done.
    """

    def __init__(self):
        outputs = ("start", "busy", "units_busy", "faulty", "request")
        super().__init__(dict.fromkeys(outputs, Out(1)) | {"requested": In(1), "runs": In(1)})


class FlushControl(SharedBlock):
    """Flush of the L2 slices once cores have ended and units are idle, or on the host's request.

    A run begins when a core is busy after `start` and lasts until its flush is done. A fault ends
    it at once; then only the host can flush. A request during a flush starts another flush after
    it.

    Parameters
    ----------
    slices : int
        Number of L2 slices, all flushed together.

    Members
    -------
    progress : In(RunProgressSignature())
    slices : Out(FlushSignature(slices))
    """

    def __init__(self, slices: int):
        self.config = slices
        super().__init__({
            "progress": In(RunProgressSignature()),
            "slices": Out(FlushSignature(slices)),
        })

    def build(self, platform):
        m = Module()
        run, slices = self.progress, self.slices
        # Cause of the current flush: the end of the run, the host, or both.
        begun, pending, for_end, for_host = Signal(), Signal(), Signal(), Signal()
        quiet, ended = ~run.busy & ~run.units_busy, Signal()
        m.d.comb += [
            run.runs.eq(begun & ~ended),
            run.requested.eq(pending | for_host),
        ]
        with m.If(run.start & run.busy):
            m.d.sync += begun.eq(1)
        all_flushed = slices.flushed.all()
        with m.If(slices.flush):
            m.d.sync += [
                slices.flush.eq(~all_flushed),
                for_host.eq(for_host & ~all_flushed),
                ended.eq(ended | (for_end & all_flushed)),
            ]
        with m.Else():
            m.d.sync += for_end.eq(run.runs & quiet & ~run.faulty)
            with m.If(pending | (run.runs & quiet & ~run.faulty)):
                m.d.sync += [slices.flush.eq(1), for_host.eq(pending), pending.eq(0)]
        with m.If(run.request):
            m.d.sync += pending.eq(1)
        return m
