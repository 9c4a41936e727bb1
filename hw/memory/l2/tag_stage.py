"""Tag stage of an L2 slice: decides the outcome of each operation."""

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from .atomics.atomic_stage import L2AtomicStage
from .layouts import L2SliceConfig, access_layout, operation_layout
from .order_signatures import OrderSignature
from .signatures import (
    AtomicOutcomeSignature,
    InFlightSignature,
    L2PrefetchSignature,
    MshrUpdateSignature,
    OutcomeSignature,
    TagUpdateSignature,
    WritebackStateSignature,
    put_layout,
)

__all__ = ["L2TagStage"]


class L2TagStage(SharedBlock):
    """Tag stage: decides on an operation in one cycle, from the tags and the state in flight.

    A read hits if its beats are valid and no earlier read of its id waits. On a miss the line is
    read from DRAM: into its own way, into a victim, or past the cache. If the line is in flight
    already, or bytes of it are being written back, the read waits. A prefetch (a read of no
    beats) begins if a way is available, and is dropped otherwise. The first demand read of a line
    being prefetched takes over its MSHR. If the line has arrived and its fill is deferred, the
    read claims it: one look-up fills the line and answers the read. A write allocates without a
    read of its line; bytes it does not write stay invalid. It stalls while its line is read past
    the cache, or while the write-back buffer is full. A write of a whole line also goes to DRAM
    in its own look-up, unless its line is in flight, its victim is written back, or many
    write-backs are in flight. The line is then clean. An atomic, of any source, needs its beat
    (`L2AtomicStage`): on a miss it fetches its line, as a prefetch does, and stalls until the fill.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    lookup : In(ResponseSignature(operation_layout(config)))
        The operation.
    tags : Out(TagUpdateSignature(config)), to `L2TagArray`
    mshrs, in_flight : Out(MshrUpdateSignature(config)), Out(InFlightSignature(config))
        To `L2MshrFile`.
    writebacks : Out(WritebackStateSignature(config))
    writeback : Out(ResponseSignature(put_layout(config)))
        To `L2WritebackBuffer`.
    order : Out(OrderSignature()), to `L2Ids`
    access : Out(ResponseSignature(access_layout(config)))
        Access to the data array.
    outcome : Out(OutcomeSignature())
    prefetcher : Out(L2PrefetchSignature(config))
    atomic : Out(AtomicOutcomeSignature()), to `L2AtomicAccess`, with atomics
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        super().__init__({
            "lookup": In(ResponseSignature(operation_layout(config))),
            "tags": Out(TagUpdateSignature(config)),
            "mshrs": Out(MshrUpdateSignature(config)),
            "in_flight": Out(InFlightSignature(config)),
            "writebacks": Out(WritebackStateSignature(config)),
            "writeback": Out(ResponseSignature(put_layout(config))),
            "order": Out(OrderSignature()),
            "access": Out(ResponseSignature(access_layout(config))),
            "outcome": Out(OutcomeSignature()),
            "prefetcher": Out(L2PrefetchSignature(config)),
            **({"atomic": Out(AtomicOutcomeSignature())} if config.has_atomics else {}),
        })

    def build(self, platform):
        m = Module()
        operation = self.lookup.payload
        walks, fresh, evicts = Signal(), Signal(), Signal()
        atomic = self.decide_atomic(m) if self.config.has_atomics else None
        begins, (allocates, through) = self.read(m, atomic), self.do_write(m, atomic)
        is_walk = self.lookup.valid & operation.walk
        dirties, is_ahead = allocates, ~operation.beats.any()
        if atomic is not None:
            dirties, is_ahead = allocates & ~atomic.loads, is_ahead & ~operation.write
        m.d.comb += [
            walks.eq(is_walk & self.tags.result.dirty & self.writebacks.room),
            self.outcome.clean.eq(is_walk & ~self.tags.result.dirty),
            fresh.eq((begins | allocates) & ~self.tags.result.present),
            evicts.eq((fresh & self.tags.result.given_up) | walks),
            self.tags.change.needed.eq(operation.write | operation.beats.any()),
            self.tags.change.replaces.eq(fresh),
            self.tags.change.ahead.eq(begins & is_ahead),
            self.tags.change.write.eq(
                begins | allocates | self.mshrs.adopt | self.mshrs.line_filled | walks
            ),
        ]
        self.enter(m, begins, dirties, through, walks)
        self.send(m, evicts, through)
        self.give_access(m, (allocates, dirties, through), walks, fresh)
        self.report(m)
        return m

    def decide_atomic(self, m: Module) -> L2AtomicStage:
        """Decide on an atomic."""
        m.submodules.atomic = atomic = L2AtomicStage(self.config)
        connect(m, flipped(self.lookup), atomic.lookup)
        m.d.comb += [
            atomic.result.eq(self.tags.result),
            atomic.reply_pending.eq(self.order.reply_pending),
            atomic.filled.eq(self.mshrs.line_filled),
            atomic.done.eq(self.outcome.done),
        ]
        connect(m, atomic.outcome, flipped(self.atomic))
        return atomic

    def read(self, m: Module, atomic: L2AtomicStage | None) -> Signal:
        """Decide on a read; return whether a refill of its line into a way begins."""
        operation, going = self.lookup.payload, self.writebacks.going
        mshrs, outcome, result = self.mshrs, self.mshrs.outcome, self.tags.result
        present, entry = result.present, result.entry
        names = ("reads", "whole", "answers", "read_begins", "read_passes", "is_ahead")
        reads, whole, answers, begins, passes, is_ahead = (Signal(name=n) for n in names)
        waits, fills, continues = (Signal(name=n) for n in ("read_waits", "fills", "continues"))
        room, is_demand = ~result.given_up | self.writebacks.room, operation.beats.any()
        misses, is_new = reads & ~whole, operation.read
        waits_now = reads & ~answers & (is_demand | begins) & ~is_ahead
        if atomic is not None:
            misses, is_new = misses | atomic.misses, operation.read | operation.write
            waits_now = waits_now | (atomic.misses & begins)
        m.d.comb += [
            reads.eq(self.lookup.valid & (operation.read | operation.retry)),
            whole.eq(present & ~(operation.beats & ~entry.full).any()),
            answers.eq(
                reads & is_demand & whole
                & Mux(operation.retry, ~self.order.follows, self.order.is_ordered)
            ),
            begins.eq(
                misses & ~going
                & Mux(present, ~entry.pending, operation.allocates & result.has_way & room)
            ),
            passes.eq(
                (reads & is_demand & ~present & ~going)
                & ~(operation.allocates & result.has_way)
            ),
            outcome.fetches.eq(begins | passes),
            outcome.keeps.eq(begins),
            outcome.for_line.eq(reads & present & ~whole & entry.pending),
            outcome.for_back.eq(reads & ~whole & ~outcome.for_line & ~outcome.fetches),
            outcome.stays.eq(self.lookup.valid & operation.fill & ~operation.keeps),
            is_ahead.eq(
                reads & operation.read & is_demand & present & ~whole & entry.pending & entry.ahead
            ),
            mshrs.claim.eq(is_ahead & self.in_flight.arrived & self.order.is_ordered),
            mshrs.adopt.eq(is_ahead & ~mshrs.claim),
            mshrs.ahead.eq(entry.mshr),
            waits.eq(waits_now),
            fills.eq(self.lookup.valid & operation.fill),
            # Adopted after it was chosen: the MSHR stays in use, its new read is answered later.
            continues.eq(self.order.follows | (operation.keeps & ~is_demand & ~entry.ahead)),
            mshrs.take.eq(waits & is_new),
            mshrs.settle.eq(waits | (fills & continues)),
            mshrs.free.eq((answers & operation.retry) | (fills & ~continues)),
            mshrs.line_filled.eq((fills & operation.keeps) | mshrs.claim),
            self.outcome.read_miss.eq(
                self.lookup.valid & operation.read & is_demand & ~whole & ~mshrs.claim
            ),
            self.access.payload.responds.eq(
                answers | (fills & is_demand & ~self.order.follows) | mshrs.claim
            ),
        ]  # fmt: skip
        return begins

    def do_write(self, m: Module, atomic: L2AtomicStage | None) -> tuple[Value, Signal]:
        """Decide on a write; return whether it is done into a way, and with it through to DRAM."""
        operation, result = self.lookup.payload, self.tags.result
        outcome, promise = self.outcome, self.writeback.payload.has_reply
        names = ("writes", "into", "past", "allows", "keeps_order", "needs_room", "through")
        writes, into, past, allows, keeps_order, needs_room, through = (
            Signal(name=n) for n in names
        )
        evicts = into & ~result.present & result.given_up
        # The refill of a line in flight would replace the written bytes of a clean line.
        in_flight = result.present & result.entry.pending
        is_whole = into & operation.beats.all() & ~in_flight
        has_place = result.present | (operation.allocates & result.has_way)
        bypasses, missed = ~operation.is_empty & ~into, outcome.done
        may_go = self.writebacks.room | ~needs_room
        if atomic is not None:
            has_place = Mux(atomic.is_atomic, atomic.accesses, has_place)
            bypasses, may_go = bypasses & ~atomic.is_atomic, may_go & atomic.may_end
            missed = missed | (self.mshrs.take & operation.write)
        m.d.comb += [
            writes.eq(self.lookup.valid & operation.write),
            into.eq(~operation.is_empty & has_place),
            past.eq(bypasses),
            keeps_order.eq(self.order.reply_pending & ~past),
            needs_room.eq(evicts | past | keeps_order),
            allows.eq(
                ~(self.in_flight.passes & ~operation.is_empty) & ~(evicts & keeps_order) & may_go
            ),
            outcome.done.eq(writes & allows),
            outcome.undone.eq(writes & ~allows),
            outcome.replies.eq(outcome.done & ~past & ~keeps_order),
            outcome.write_miss.eq(missed & ~result.present & ~operation.is_empty),
            through.eq(outcome.replies & is_whole & ~evicts & self.writebacks.is_light),
            self.access.payload.passes.eq((outcome.done & past) | through),
            promise.eq(outcome.done & (past | keeps_order)),
            self.order.promise.eq(promise),
        ]
        return outcome.done & into, through

    def enter(self, m: Module, begins: Signal, dirties: Value, through: Signal, walks: Signal):
        """Drive the new tag entry."""
        operation, written = self.lookup.payload, self.tags.change.entry
        fills = self.mshrs.line_filled
        present, entry = self.tags.result.present, self.tags.result.entry
        arrived = Cat(~operation.codes[2 * n + 1] for n in range(self.config.beats))
        with m.If(walks):
            m.d.comb += [written.eq(self.tags.result.gone), written.dirty.eq(0)]
        with m.Else():
            m.d.comb += [
                written.tag.eq(self.config.tag_of(operation.line)),
                written.valid.eq(1),
                written.pending.eq(begins | (present & entry.pending & ~fills)),
                written.dirty.eq((dirties | (present & entry.dirty)) & ~through),
                written.full.eq(
                    Mux(present, entry.full, 0)
                    | Mux(dirties, operation.beats, 0)
                    | Mux(fills, arrived, 0)
                ),
                written.ahead.eq(
                    Mux(
                        begins,
                        ~operation.beats.any(),
                        present & entry.ahead & ~(self.mshrs.adopt | self.mshrs.claim),
                    )
                ),
                written.mshr.eq(Mux(begins, self.in_flight.spare, entry.mshr)),
            ]

    def send(self, m: Module, evicts: Signal, through: Signal):
        """Drive the write-back: the victim, or a write past the cache."""
        operation, access, config = self.lookup.payload, self.access.payload, self.config
        old_line = config.line_of(self.tags.result.gone.tag, config.set_of(operation.line))
        m.d.comb += [
            self.writeback.valid.eq(evicts | access.passes | self.writeback.payload.has_reply),
            self.writeback.payload.has_line.eq(evicts | access.passes),
            self.writeback.payload.line.eq(Mux(evicts, old_line, operation.line)),
            self.writeback.payload.id.eq(operation.id),
            self.outcome.write_back.eq(evicts | through),
        ]

    def give_access(
        self, m: Module, written: tuple[Value, Value, Signal], walks: Signal, fresh: Signal
    ):
        """Drive the access to the data array; a write may access a line and leave it clean."""
        operation, access = self.lookup.payload, self.access.payload
        allocates, dirties, through = written
        reads = operation.read | operation.retry
        m.d.comb += [
            access.touches.eq(
                (reads & access.responds) | fresh | self.mshrs.line_filled | allocates | walks
            ),
            access.writes.eq(dirties),
            access.fills.eq(self.mshrs.line_filled),
            access.from_dram.eq(access.responds & operation.fill & ~operation.keeps),
            access.cleans.eq(walks | through),
            access.fresh.eq(fresh),
            access.pushes.eq(self.writeback.valid),
            access.place.eq(Cat(self.tags.result.way, self.config.set_of(operation.line))),
            access.id.eq(operation.id),
            access.beats.eq(operation.beats),
            access.full.eq(
                Mux(operation.fill, Mux(operation.keeps, self.tags.result.entry.full, 0), ~0)
            ),
            access.codes.eq(operation.codes),
            access.mshr.eq(Mux(operation.read, self.mshrs.ahead, operation.mshr)),
            access.entry.eq(operation.entry),
            access.back.eq(self.writebacks.number),
            self.access.valid.eq(access.touches | access.from_dram | access.pushes),
        ]

    def report(self, m: Module):
        """Report a written line, and what the prefetcher observes."""
        operation, access, prefetcher = self.lookup.payload, self.access.payload, self.prefetcher
        mshrs, is_demand = self.mshrs, operation.beats.any()
        is_read = self.lookup.valid & operation.read
        m.d.comb += [
            # A line written to DRAM with its write is clean.
            self.outcome.dirties.eq(access.writes & ~access.passes),
            self.outcome.is_whole.eq(operation.beats.all() & ~self.tags.change.entry.pending),
            prefetcher.demand.eq(is_read & operation.allocates & is_demand),
            prefetcher.missed.eq(self.outcome.read_miss),
            prefetcher.line.eq(operation.line),
            prefetcher.begun.eq(mshrs.take & ~is_demand),
            prefetcher.finished.eq((mshrs.free & ~is_demand) | mshrs.adopt | mshrs.claim),
        ]
