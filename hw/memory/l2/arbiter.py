"""Operation arbiter of an L2 slice."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .layouts import L2SliceConfig, operation_layout
from .signatures import OutcomeSignature, SweepSignature

__all__ = ["CLEARED_TOGETHER", "L2Arbiter"]

#: High bits of a set's number, and of an id, that are compared with those of their sweep.
CLEARED_TOGETHER = 3


class L2Arbiter(SharedBlock):
    """L2 arbiter: selects a retry or fill first, then a walk, then reads and writes in turn.

    Combinational to `start`. A prefetch (`ahead`) takes every second turn of the writes. An `early`
    walk takes cycles in which nothing else is selected. After a write that could not be done no
    read begins until it is done, so that the reads it waits for complete. During a sweep only reads
    of cleared sets begin, and an operation in at most every second cycle.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    again, walk, read, write, ahead, early : In(stream.Signature(operation_layout(config)))
    may_answer : In(1)
        The response queue has room for a read, including all in flight.
    may_wait : In(1)
        An MSHR is free for a read or an atomic that misses, or for a prefetch.
    may_reply : In(1)
        There is room for the reply to a write.
    holds : In(1)
        No read and no write may begin.
    sets : In(SweepSignature(config.l2.set_width))
    ids : In(SweepSignature(config.id_width))
    start : Out(ResponseSignature(operation_layout(config)))
        Look up an operation in the next cycle.
    lookup : Out(ResponseSignature(operation_layout(config)))
        The operation of the last cycle, which is looked up.
    outcome : In(OutcomeSignature())
        Its outcome. If it is a write that is not done, the next one is not either.
    mshr_stall : Out(1)
        A read stalls because no MSHR is free.
    pipeline_stall : Out(1)
        A read or a write stalls because another operation is selected.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        operation = operation_layout(config)
        flags = ("may_answer", "may_wait", "may_reply", "holds")
        offers = ("again", "walk", "read", "write", "ahead", "early")
        super().__init__(
            {name: In(stream.Signature(operation)) for name in offers}
            | {name: In(1) for name in flags}
            | {name: Out(ResponseSignature(operation)) for name in ("start", "lookup")}
            | {name: Out(1) for name in ("mshr_stall", "pipeline_stall")}
            | {
                "sets": In(SweepSignature(config.l2.set_width)),
                "ids": In(SweepSignature(config.id_width)),
                "outcome": In(OutcomeSignature()),
            }
        )

    def build(self, platform):
        m = Module()
        again, walk, read, write = self.again, self.walk, self.read, self.write
        repeats, walks, free = Signal(), Signal(), Signal()
        may_read, may_write, prefers_write, holds_reads = Signal(), Signal(), Signal(), Signal()
        leads, prefers_ahead = Signal(), Signal()  # a prefetch takes the turn of a write
        may_lead, others, read_goes = Signal(), Signal(), Signal()
        sweeping, cleared = Signal(), Signal()
        pauses = Signal()  # no look-up begins, to let the sweep go on
        lookup = Signal.like(self.start.payload, reset_less=True)
        offers_write = write.valid
        if self.config.has_atomics:  # an atomic that misses needs an MSHR
            offers_write = offers_write & (self.may_wait | ~write.payload.atomic.valid)
        m.d.sync += [self.lookup.valid.eq(self.start.valid), lookup.eq(self.start.payload)]
        m.d.comb += [
            self.lookup.payload.eq(lookup),
            sweeping.eq(self.sets.sweeping | self.ids.sweeping),
            cleared.eq(self.is_cleared(read.payload)),
            pauses.eq(sweeping & self.lookup.valid),
            again.ready.eq(self.may_answer & ~pauses),
            repeats.eq(again.valid & again.ready),
            walk.ready.eq(~repeats & ~sweeping),
            walks.eq(walk.valid & walk.ready),
            free.eq(~repeats & ~walk.valid & ~pauses),
            may_lead.eq(self.may_wait & ~self.holds & ~holds_reads),
            may_read.eq(self.may_answer & may_lead & cleared),
            may_write.eq(offers_write & self.may_reply & ~self.holds & ~sweeping),
            leads.eq(self.ahead.valid & may_lead & ~sweeping & (prefers_ahead | ~may_write)),
            read.ready.eq(free & may_read & ~((may_write | leads) & prefers_write)),
            read_goes.eq(read.valid & read.ready),
            others.eq(free & ~(read.valid & may_read & ~prefers_write)),
            self.ahead.ready.eq(others & leads),
            write.ready.eq(others & may_write & ~leads),
            self.early.ready.eq(others & ~may_write & ~leads & ~sweeping),
            self.start.valid.eq(
                Cat(
                    (
                        repeats,
                        walks,
                        read_goes,
                        self.ahead.ready,
                        write.ready & ~self.outcome.undone,
                    ),
                    self.early.valid & self.early.ready,
                ).any()
            ),
            self.mshr_stall.eq(read.valid & free & ~self.may_wait),
            self.pipeline_stall.eq(
                (read.valid & may_read & ~read.ready) | (may_write & ~write.ready)
            ),
        ]
        with m.If(repeats):
            m.d.comb += self.start.payload.eq(again.payload)
        with m.Elif(walk.valid):
            m.d.comb += self.start.payload.eq(walk.payload)
        with m.Elif(read_goes):
            m.d.comb += self.start.payload.eq(read.payload)
        with m.Elif(leads):
            m.d.comb += self.start.payload.eq(self.ahead.payload)
        with m.Elif(may_write):
            m.d.comb += self.start.payload.eq(write.payload)
        with m.Else():
            m.d.comb += self.start.payload.eq(self.early.payload)
        with m.If(read_goes | self.ahead.ready | write.ready):
            m.d.sync += prefers_write.eq(read_goes)
        with m.If(self.ahead.ready | write.ready):
            m.d.sync += prefers_ahead.eq(write.ready)
        with m.If(self.outcome.done | self.outcome.undone):
            m.d.sync += holds_reads.eq(self.outcome.undone)
        return m

    def is_cleared(self, read: data.View) -> Value:
        """Return whether the sets and ids of a read's groups have been cleared after a reset."""
        cleared = []
        for sweep, row in ((self.sets, self.config.set_of(read.line)), (self.ids, read.id)):
            group = slice(-min(CLEARED_TOGETHER, len(row)), None)
            cleared.append(~sweep.sweeping | (row[group] < sweep.swept[group]))
        return Cat(cleared).all()
