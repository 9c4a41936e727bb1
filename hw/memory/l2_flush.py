"""Everything that was written, to DRAM."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from .l2_layouts import L2SliceConfig, operation_layout

__all__ = ["L2Flush"]


class L2Flush(SharedBlock):
    """Wait until nothing is under way, walk over all sets, and wait until all came to DRAM.

    A set is looked up per cycle, and again until nothing in it is left to write back: a line
    every 2 cycles.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    flush : In(1)
        Stays until `flushed`, and falls after it.
    flushed : Out(1)
        All that was written before is in DRAM; until `flush` falls.
    holds : Out(1)
        Nothing new may begin.
    idle : In(1)
        Nothing is under way in the slice.
    settled : In(1)
        Nothing is on its way to DRAM.
    walk : Out(stream.Signature(operation_layout(config)))
    looked : In(1)
        What was taken in the last cycle is looked up, and was `clean` or is to be again.
    clean : In(1)
    """

    flush: Signal
    flushed: Signal
    holds: Signal
    idle: Signal
    settled: Signal
    walk: stream.Interface
    looked: Signal
    clean: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "flush": In(1),
            "flushed": Out(1),
            "holds": Out(1),
            "idle": In(1),
            "settled": In(1),
            "walk": Out(stream.Signature(operation_layout(config))),
            "looked": In(1),
            "clean": In(1),
        })

    def build(self, platform):
        m = Module()
        set_number = Signal(self.config.l2.set_width)
        # Of the last cycle; what was taken behind a set that is not clean comes again after it.
        taken, taken_set = Signal(), Signal.like(set_number)
        tag = C(0, self.config.l2.tag_width)
        m.d.comb += [
            self.holds.eq(1),
            self.walk.payload.walk.eq(1),
            self.walk.payload.line.eq(self.config.line_of(tag, set_number)),
        ]
        m.d.sync += taken.eq(0)
        with m.FSM():
            with m.State("rests"):
                m.d.comb += self.holds.eq(self.flush)
                m.d.sync += set_number.eq(0)
                with m.If(self.flush & self.idle):
                    m.next = "walks"
            with m.State("walks"):
                m.d.comb += self.walk.valid.eq(1)
                with m.If(self.walk.ready):
                    m.d.sync += [
                        taken.eq(1),
                        taken_set.eq(set_number),
                        set_number.eq(set_number + 1),
                    ]
                with m.If(self.looked & taken):
                    with m.If(~self.clean):
                        m.d.sync += [set_number.eq(taken_set), taken.eq(0)]
                    with m.Elif(taken_set.all()):
                        m.next = "settles"
            with m.State("settles"), m.If(self.settled & self.idle):
                m.next = "ends"
            with m.State("ends"):
                m.d.comb += [self.holds.eq(0), self.flushed.eq(self.flush)]
                with m.If(~self.flush):
                    m.next = "rests"
        return m
