"""When the caches of a cluster write back to DRAM: at the end of a run, and for the host."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from .shared_block import SharedBlock

__all__ = ["FlushControl"]


class FlushControl(SharedBlock):
    """Flush when the cores have ended and the units are idle, and whenever the host asks.

    A run begins when a core is busy after `start`, and lasts until it is flushed. A fault ends it
    at once: then only the host flushes. What it asks for while a flush goes on follows it.

    Parameters
    ----------
    slices : int
        Of the L2 cache, all flushed together.

    Members
    -------
    start : In(1)
        Cores have been started.
    busy : In(1)
        A core is.
    units_busy : In(1)
        So is a unit that works for them.
    faulty : In(1)
        A core has met a fault.
    request : In(1)
        The host asks for a flush.
    flush : Out(1)
        To all slices, until all have `flushed`.
    flushed : In(slices)
    requested : Out(1)
        What the host asked for is not done.
    runs : Out(1)
        A run has begun and is not flushed.
    """

    start: Signal
    busy: Signal
    units_busy: Signal
    faulty: Signal
    request: Signal
    flush: Signal
    flushed: Signal
    requested: Signal
    runs: Signal

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
        # What a flush that goes on is for: the end of the run, or the host.
        begun, asked, for_end, for_host = Signal(), Signal(), Signal(), Signal()
        quiet, ended = ~self.busy & ~self.units_busy, Signal()
        m.d.comb += [
            self.runs.eq(begun & ~ended),
            self.requested.eq(asked | for_host),
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
            with m.If(asked | (self.runs & quiet & ~self.faulty)):
                m.d.sync += [self.flush.eq(1), for_host.eq(asked), asked.eq(0)]
        with m.If(self.request):
            m.d.sync += asked.eq(1)
        return m
