"""Flush engine of an L2 slice: writes back all dirty lines."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .layouts import L2SliceConfig, operation_layout
from .signatures import OutcomeSignature

__all__ = ["GROUPS", "L2Flush"]

#: Groups of consecutive sets, each with a flag for dirty lines.
GROUPS = 32


class L2Flush(SharedBlock):
    """Flush engine: waits for an idle slice, walks the sets, and waits for all write-backs.

    One set is looked up per cycle, and again until it has no dirty line left: a line every 2
    cycles. A group of sets without a write since the last flush takes 1 cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    flush : In(1)
        Held until `flushed`, then released.
    flushed : Out(1)
        All earlier writes are in DRAM. Stays high until `flush` falls.
    holds : Out(1)
        No new operation may begin.
    idle : In(1)
        No operation is in progress in the slice.
    settled : In(1)
        No write-back is in flight.
    walk : Out(stream.Signature(operation_layout(config)))
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation that is looked up. A set that was accepted is repeated unless it is clean.
    outcome : In(OutcomeSignature())
    queued : In(1)
        The set of a line that it writes is cleaned without a flush.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "flush": In(1),
            "flushed": Out(1),
            "holds": Out(1),
            "idle": In(1),
            "settled": In(1),
            "walk": Out(stream.Signature(operation_layout(config))),
            "lookup": In(ResponseSignature(operation_layout(config))),
            "outcome": In(OutcomeSignature()),
            "queued": In(1),
        })

    def build(self, platform):
        m = Module()
        sets, width = self.config.l2.sets, self.config.l2.set_width
        groups = min(GROUPS, sets)
        low = exact_log2(sets // groups)
        written = Signal(groups)  # groups of sets with dirty lines
        set_number, is_over, skips = Signal(width + 1), Signal(), Signal()
        # Set accepted in the last cycle. If it is not clean, it and the set after it are repeated.
        walked, walked_set = Signal(), Signal.like(set_number)
        tag = C(0, self.config.l2.tag_width)
        m.d.comb += [
            self.holds.eq(1),
            self.walk.payload.walk.eq(1),
            self.walk.payload.line.eq(self.config.line_of(tag, set_number[:width])),
            is_over.eq(set_number[width]),
            skips.eq(~set_number[:low].any() & ~written.bit_select(set_number[low:width], 1)),
        ]
        m.d.sync += walked.eq(0)
        walks = self.lookup.valid & self.lookup.payload.walk
        with m.If(self.outcome.dirties & ~self.queued):
            group = self.config.set_of(self.lookup.payload.line)[low:]
            # An indexed assignment would become a tree of cases.
            m.d.sync += written.eq(written | (1 << group))
        with m.FSM():
            with m.State("rests"):
                m.d.comb += self.holds.eq(self.flush)
                m.d.sync += set_number.eq(0)
                with m.If(self.flush & self.idle):
                    m.next = "walks"
            with m.State("walks"):
                m.d.comb += self.walk.valid.eq(~is_over & ~skips)
                with m.If(~is_over & skips):
                    m.d.sync += set_number.eq(set_number + (1 << low))
                with m.Elif(self.walk.valid & self.walk.ready):
                    m.d.sync += [
                        walked.eq(1),
                        walked_set.eq(set_number),
                        set_number.eq(set_number + 1),
                    ]
                with m.If(walks & walked & ~self.outcome.clean):
                    m.d.sync += [set_number.eq(walked_set), walked.eq(0)]
                with m.Elif(is_over & ~walked):
                    m.d.sync += written.eq(0)
                    m.next = "settles"
            with m.State("settles"), m.If(self.settled & self.idle):
                m.next = "ends"
            with m.State("ends"):
                m.d.comb += [self.holds.eq(0), self.flushed.eq(self.flush)]
                with m.If(~self.flush):
                    m.next = "rests"
        return m
