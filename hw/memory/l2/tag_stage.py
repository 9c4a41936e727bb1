"""Tag stage of an L2 slice: decides the outcome of each operation."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from .layouts import L2SliceConfig, access_layout, operation_layout
from .signatures import MshrUpdateSignature, TagUpdateSignature, WritebackSignature

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
    write-backs are in flight. The line is then clean.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid : In(1)
    operation : In(operation_layout(config))
    tags : Out(TagUpdateSignature(config))
        To `L2TagArray`.
    mshrs : Out(MshrUpdateSignature(config))
        To `L2MshrFile`.
    writebacks : Out(WritebackSignature(config))
        To `L2WritebackBuffer`.
    is_ordered, follows, reply_pending : In(1)
        State of its id, from `L2Ids`.
    access : Out(access_layout(config))
        Access to the data array; valid with `accesses`.
    accesses : Out(1)
    done, undone : Out(1)
        A write is done, or must be retried; `replies` if its reply is sent at once.
    replies : Out(1)
    clean : Out(1)
        The walk found no dirty line in its set.
    read_miss, write_miss, write_back : Out(1)
        A new read, or a write, missed; a line is written back.
    """

    def __init__(self, config: L2SliceConfig):
        self.config = config
        inputs = ("valid", "is_ordered", "follows", "reply_pending")
        outputs = ("accesses", "done", "undone", "replies", "clean")
        outputs += ("read_miss", "write_miss", "write_back")
        super().__init__(
            {name: In(1) for name in inputs}
            | {name: Out(1) for name in outputs}
            | {
                "operation": In(operation_layout(config)),
                "tags": Out(TagUpdateSignature(config)),
                "mshrs": Out(MshrUpdateSignature(config)),
                "writebacks": Out(WritebackSignature(config)),
                "access": Out(access_layout(config)),
            }
        )

    def build(self, platform):
        m = Module()
        operation = self.operation
        walks, fresh, evicts = Signal(), Signal(), Signal()
        begins, allocates = self.read(m), self.do_write(m)
        m.d.comb += [
            walks.eq(self.valid & operation.walk & self.tags.found.dirty & self.writebacks.room),
            self.clean.eq(self.valid & operation.walk & ~self.tags.found.dirty),
            fresh.eq((begins | allocates) & ~self.tags.found.present),
            evicts.eq((fresh & self.tags.found.given_up) | walks),
            self.tags.change.needed.eq(operation.write | operation.beats.any()),
            self.tags.change.replaces.eq(fresh),
            self.tags.change.ahead.eq(begins & ~operation.beats.any()),
            self.tags.change.write.eq(
                begins | allocates | self.mshrs.adopt | self.mshrs.line_filled | walks
            ),
        ]
        self.enter(m, begins, allocates, walks)
        self.send(m, evicts)
        self.give_access(m, begins, allocates, walks, fresh)
        return m

    def read(self, m: Module) -> Signal:
        """Decide on a read; return whether a refill of its line into a way begins."""
        operation, going = self.operation, self.writebacks.going
        mshrs, outcome = self.mshrs, self.mshrs.outcome
        present, found = self.tags.found.present, self.tags.found.entry
        reads, whole, answers, begins, passes, is_ahead = (
            Signal(name=n)
            for n in ("reads", "whole", "answers", "read_begins", "read_passes", "is_ahead")
        )
        waits, fills, continues = (Signal(name=n) for n in ("read_waits", "fills", "continues"))
        room = ~self.tags.found.given_up | self.writebacks.room
        is_demand = operation.beats.any()
        m.d.comb += [
            reads.eq(self.valid & (operation.read | operation.retry)),
            whole.eq(present & ~(operation.beats & ~found.full).any()),
            answers.eq(
                reads & is_demand & whole & Mux(operation.retry, ~self.follows, self.is_ordered)
            ),
            begins.eq(
                reads & ~whole & ~going
                & Mux(present, ~found.pending, operation.allocates & self.tags.found.has_way & room)
            ),
            passes.eq(
                (reads & is_demand & ~present & ~going)
                & ~(operation.allocates & self.tags.found.has_way)
            ),
            outcome.fetches.eq(begins | passes),
            outcome.keeps.eq(begins),
            outcome.for_line.eq(reads & present & ~whole & found.pending),
            outcome.for_back.eq(reads & ~whole & ~outcome.for_line & ~outcome.fetches),
            outcome.stays.eq(self.valid & operation.fill & ~operation.keeps),
            is_ahead.eq(
                reads & operation.read & is_demand & present & ~whole & found.pending & found.ahead
            ),
            mshrs.claim.eq(is_ahead & mshrs.arrived & self.is_ordered),
            mshrs.adopt.eq(is_ahead & ~mshrs.claim),
            mshrs.ahead.eq(found.mshr),
            waits.eq(reads & ~answers & (is_demand | begins) & ~is_ahead),
            fills.eq(self.valid & operation.fill),
            # Adopted after it was chosen: the MSHR stays in use, its new read is answered later.
            continues.eq(self.follows | (operation.keeps & ~is_demand & ~found.ahead)),
            mshrs.take.eq(waits & operation.read),
            mshrs.settle.eq(waits | (fills & continues)),
            mshrs.free.eq((answers & operation.retry) | (fills & ~continues)),
            mshrs.line_filled.eq((fills & operation.keeps) | mshrs.claim),
            self.read_miss.eq(self.valid & operation.read & is_demand & ~whole & ~mshrs.claim),
            self.access.responds.eq(answers | (fills & is_demand & ~self.follows) | mshrs.claim),
        ]  # fmt: skip
        return begins

    def do_write(self, m: Module) -> Value:
        """Decide on a write; return whether it is done, into a way, and maybe `through` to DRAM."""
        operation, found = self.operation, self.tags.found
        writes, into, past, allows, keeps_order, needs_room = (
            Signal(name=n)
            for n in ("writes", "into", "past", "allows", "keeps_order", "needs_room")
        )
        self.through = through = Signal(name="through")
        evicts = into & ~found.present & found.given_up
        # The refill of a line in flight would replace the written bytes of a clean line.
        in_flight = found.present & found.entry.pending
        is_whole = into & operation.beats.all() & ~in_flight
        m.d.comb += [
            writes.eq(self.valid & operation.write),
            into.eq(~operation.is_empty & (found.present | (operation.allocates & found.has_way))),
            past.eq(~operation.is_empty & ~into),
            keeps_order.eq(self.reply_pending & ~past),
            needs_room.eq(evicts | past | keeps_order),
            allows.eq(
                ~(self.mshrs.passes & ~operation.is_empty)
                & ~(evicts & keeps_order)
                & (self.writebacks.room | ~needs_room)
            ),
            self.done.eq(writes & allows),
            self.undone.eq(writes & ~allows),
            self.replies.eq(self.done & ~past & ~keeps_order),
            self.write_miss.eq(self.done & ~found.present & ~operation.is_empty),
            through.eq(self.replies & is_whole & ~evicts & self.writebacks.is_light),
            self.access.passes.eq((self.done & past) | through),
            self.writebacks.what.has_reply.eq(self.done & (past | keeps_order)),
        ]
        return self.done & into

    def enter(self, m: Module, begins, allocates, walks):
        """Drive the new tag entry."""
        operation, written, fills = self.operation, self.tags.change.entry, self.mshrs.line_filled
        present, found = self.tags.found.present, self.tags.found.entry
        arrived = Cat(~operation.codes[2 * n + 1] for n in range(self.config.beats))
        with m.If(walks):
            m.d.comb += [written.eq(self.tags.found.gone), written.dirty.eq(0)]
        with m.Else():
            m.d.comb += [
                written.tag.eq(self.config.tag_of(operation.line)),
                written.valid.eq(1),
                written.pending.eq(begins | (present & found.pending & ~fills)),
                written.dirty.eq((allocates | (present & found.dirty)) & ~self.through),
                written.full.eq(
                    Mux(present, found.full, 0)
                    | Mux(allocates, operation.beats, 0)
                    | Mux(fills, arrived, 0)
                ),
                written.ahead.eq(
                    Mux(
                        begins,
                        ~operation.beats.any(),
                        present & found.ahead & ~(self.mshrs.adopt | self.mshrs.claim),
                    )
                ),
                written.mshr.eq(Mux(begins, self.mshrs.spare, found.mshr)),
            ]

    def send(self, m: Module, evicts):
        """Drive the write-back: the victim, or a write past the cache."""
        operation, config = self.operation, self.config
        old_line = config.line_of(self.tags.found.gone.tag, config.set_of(operation.line))
        m.d.comb += [
            self.writebacks.put.eq(evicts | self.access.passes | self.writebacks.what.has_reply),
            self.writebacks.what.has_line.eq(evicts | self.access.passes),
            self.writebacks.what.line.eq(Mux(evicts, old_line, operation.line)),
            self.writebacks.what.id.eq(operation.id),
            self.write_back.eq(evicts | self.through),
        ]

    def give_access(self, m: Module, begins, allocates, walks, fresh):
        """Drive the access to the data array."""
        operation, access = self.operation, self.access
        reads = operation.read | operation.retry
        m.d.comb += [
            access.touches.eq(
                (reads & access.responds) | fresh | self.mshrs.line_filled | allocates | walks
            ),
            access.writes.eq(allocates),
            access.fills.eq(self.mshrs.line_filled),
            access.from_dram.eq(access.responds & operation.fill & ~operation.keeps),
            access.cleans.eq(walks | self.through),
            access.fresh.eq(fresh),
            access.pushes.eq(self.writebacks.put),
            access.place.eq(Cat(self.tags.found.way, self.config.set_of(operation.line))),
            access.id.eq(operation.id),
            access.beats.eq(operation.beats),
            access.full.eq(
                Mux(operation.fill, Mux(operation.keeps, self.tags.found.entry.full, 0), ~0)
            ),
            access.codes.eq(operation.codes),
            access.mshr.eq(Mux(operation.read, self.mshrs.ahead, operation.mshr)),
            access.entry.eq(operation.entry),
            access.back.eq(self.writebacks.number),
            self.accesses.eq(access.touches | access.from_dram | access.pushes),
        ]
