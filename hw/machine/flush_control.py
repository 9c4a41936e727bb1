"""Flush control of the L2 caches: write-back at the end of a run and on the host's request."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..emit.shared_block import SharedBlock

__all__ = ["FlushControl"]


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
    start : In(1)
        The cores have been started.
    busy : In(1)
        A core is busy.
    units_busy : In(1)
        A unit that works for the cores is busy.
    faulty : In(1)
        A core has faulted.
    request : In(1)
        The host requests a flush.
    flush : Out(1)
        To all slices; high until all have `flushed`.
    flushed : In(slices)
    requested : Out(1)
        A flush requested by the host is pending.
    runs : Out(1)
        A run has begun and its flush is not done.
    """

    def __init__(self, slices: int):
        self.config = slices
        names = ("start", "busy", "units_busy", "faulty", "request")
        super().__init__(
            {name: In(1) for name in names}
            | {name: Out(1) for name in ("flush", "requested", "runs")}
            | {"flushed": In(slices)}
        )

    def build(self, platform):
        m = Module()
        # Cause of the current flush: the end of the run, the host, or both.
        begun, pending, for_end, for_host = Signal(), Signal(), Signal(), Signal()
        quiet, ended = ~self.busy & ~self.units_busy, Signal()
        m.d.comb += [
            self.runs.eq(begun & ~ended),
            self.requested.eq(pending | for_host),
        ]
        with m.If(self.start & self.busy):
            m.d.sync += begun.eq(1)
        all_flushed = self.flushed.all()
        with m.If(self.flush):
            m.d.sync += [
                self.flush.eq(~all_flushed),
                for_host.eq(for_host & ~all_flushed),
                ended.eq(ended | (for_end & all_flushed)),
            ]
        with m.Else():
            m.d.sync += for_end.eq(self.runs & quiet & ~self.faulty)
            with m.If(pending | (self.runs & quiet & ~self.faulty)):
                m.d.sync += [self.flush.eq(1), for_host.eq(pending), pending.eq(0)]
        with m.If(self.request):
            m.d.sync += pending.eq(1)
        return m
