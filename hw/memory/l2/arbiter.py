"""Operation arbiter of an L2 slice."""

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from .layouts import L2SliceConfig, operation_layout

__all__ = ["L2Arbiter"]


class L2Arbiter(SharedBlock):
    """L2 arbiter: selects a retry or fill first, then a walk, then reads and writes in turn.

    Combinational. A prefetch (`ahead`) takes every second turn of the writes. An `early` walk takes
    cycles in which nothing else is selected. After a write that could not be done no read begins
    until it is done, so that the reads it waits for complete. During a sweep only reads of cleared
    sets begin, and an operation in at most every second cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    again, walk, read, write, ahead, early : In(stream.Signature(operation_layout(config)))
    may_answer : In(1)
        The response queue has room for a read, including all in flight.
    may_wait : In(1)
        An MSHR is free for a read that misses, or for a prefetch.
    may_reply : In(1)
        There is room for the reply to a write.
    holds : In(1)
        No read and no write may begin.
    sweeping : In(1)
        The sets are being cleared.
    cleared : In(1)
        The set of `read` is cleared.
    done, undone : In(1)
        The write that is looked up is done, or not; in that case the next one is not either.
    lookup_valid : Out(1)
        Look up `lookup` next.
    lookup : Out(operation_layout(config))
    mshr_stall : Out(1)
        A read stalls because no MSHR is free.
    pipeline_stall : Out(1)
        A read or a write stalls because another operation is selected.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        operation = operation_layout(config)
        flags = ("may_answer", "may_wait", "may_reply", "holds", "done", "undone")
        flags += ("sweeping", "cleared")
        offers = ("again", "walk", "read", "write", "ahead", "early")
        super().__init__(
            {name: In(stream.Signature(operation)) for name in offers}
            | {name: In(1) for name in flags}
            | {name: Out(1) for name in ("lookup_valid", "mshr_stall", "pipeline_stall")}
            | {"lookup": Out(operation)}
        )

    def build(self, platform):
        m = Module()
        again, walk, read, write = self.again, self.walk, self.read, self.write
        repeats, walks, free = Signal(), Signal(), Signal()
        may_read, may_write, prefers_write, holds_reads = Signal(), Signal(), Signal(), Signal()
        leads, prefers_ahead = Signal(), Signal()  # a prefetch takes the turn of a write
        may_lead, others, read_goes = Signal(), Signal(), Signal()
        was_valid = Signal()  # in the last cycle
        pauses = Signal()  # no look-up begins, to let the sweep go on
        m.d.sync += was_valid.eq(self.lookup_valid)
        m.d.comb += [
            pauses.eq(self.sweeping & was_valid),
            again.ready.eq(self.may_answer & ~pauses),
            repeats.eq(again.valid & again.ready),
            walk.ready.eq(~repeats & ~self.sweeping),
            walks.eq(walk.valid & walk.ready),
            free.eq(~repeats & ~walk.valid & ~pauses),
            may_lead.eq(self.may_wait & ~self.holds & ~holds_reads),
            may_read.eq(self.may_answer & may_lead & self.cleared),
            may_write.eq(write.valid & self.may_reply & ~self.holds & ~self.sweeping),
            leads.eq(self.ahead.valid & may_lead & ~self.sweeping & (prefers_ahead | ~may_write)),
            read.ready.eq(free & may_read & ~((may_write | leads) & prefers_write)),
            read_goes.eq(read.valid & read.ready),
            others.eq(free & ~(read.valid & may_read & ~prefers_write)),
            self.ahead.ready.eq(others & leads),
            write.ready.eq(others & may_write & ~leads),
            self.early.ready.eq(others & ~may_write & ~leads & ~self.sweeping),
            self.lookup_valid.eq(
                Cat(
                    (repeats, walks, read_goes, self.ahead.ready, write.ready & ~self.undone),
                    self.early.valid & self.early.ready,
                ).any()
            ),
            self.mshr_stall.eq(read.valid & free & ~self.may_wait),
            self.pipeline_stall.eq(
                (read.valid & may_read & ~read.ready) | (may_write & ~write.ready)
            ),
        ]
        with m.If(repeats):
            m.d.comb += self.lookup.eq(again.payload)
        with m.Elif(walk.valid):
            m.d.comb += self.lookup.eq(walk.payload)
        with m.Elif(read_goes):
            m.d.comb += self.lookup.eq(read.payload)
        with m.Elif(leads):
            m.d.comb += self.lookup.eq(self.ahead.payload)
        with m.Elif(may_write):
            m.d.comb += self.lookup.eq(write.payload)
        with m.Else():
            m.d.comb += self.lookup.eq(self.early.payload)
        with m.If(read_goes | self.ahead.ready | write.ready):
            m.d.sync += prefers_write.eq(read_goes)
        with m.If(self.ahead.ready | write.ready):
            m.d.sync += prefers_ahead.eq(write.ready)
        with m.If(self.done | self.undone):
            m.d.sync += holds_reads.eq(self.undone)
        return m
