"""What becomes of what is looked up in a slice of the L2 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .l2_layouts import L2SliceConfig, access_layout, change_layout, found_layout, operation_layout
from .l2_slot_states import outcome_layout
from .l2_write_backs import put_layout

__all__ = ["L2Lookup"]


class L2Lookup(SharedBlock):
    """Decide, in one cycle, from what is known of a line and from what is under way.

    A read is answered if its beats are here and no read of its id waits. Else its line is read:
    into the way it has, or one that is given up, or past the cache; unless somebody reads it
    already, or bytes of it are on their way to DRAM. A read of no beats, which nobody wants yet, is
    done if a way is to be had at once, else forgotten; the first that wants its line while that
    comes takes over its slot. A write needs no line to be read: what it
    does not write is not there. It waits while somebody reads its line past the cache, and for room
    on the way to DRAM.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid : In(1)
    operation : In(operation_layout(config))
    found : In(found_layout(config))
        By `L2Sets`.
    is_ordered, follows, owes : In(1)
        What `L2Ids` knows.
    passes : In(1)
        What `L2Slots` knows.
    going, room : In(1)
        What `L2WriteBacks` knows.
    back : In
        The number of the next write-back.
    spare : In(config.slot_width)
        Where a read waits that is taken.
    change : Out(change_layout(config))
        What `L2Sets` is told.
    take, adopt, adopted, settle, outcome, free, line_came : Out
        What `L2Slots` is told.
    put, what : Out
        What `L2WriteBacks` is told.
    access : Out(access_layout(config))
        What is done with the bytes; valid with `accesses`.
    accesses : Out(1)
    done, undone : Out(1)
        A write is done, or must be tried again; `replies` if its reply goes out at once.
    replies : Out(1)
    clean : Out(1)
        There was nothing left to walk over.
    read_miss, write_miss, write_back : Out(1)
        A new read, or a write, was of a line that is not here; a line goes to DRAM.
    """

    valid: Signal
    operation: data.View
    found: data.View
    is_ordered: Signal
    follows: Signal
    passes: Signal
    going: Signal
    owes: Signal
    room: Signal
    back: Signal
    spare: Signal
    change: data.View
    take: Signal
    adopt: Signal
    adopted: Signal
    settle: Signal
    outcome: data.View
    free: Signal
    line_came: Signal
    put: Signal
    what: data.View
    access: data.View
    accesses: Signal
    done: Signal
    undone: Signal
    replies: Signal
    clean: Signal
    read_miss: Signal
    write_miss: Signal
    write_back: Signal

    def __init__(self, config: L2SliceConfig):
        self.config = config
        access = access_layout(config)
        flags_in = ("valid", "is_ordered", "follows", "passes", "going", "owes", "room")
        flags_out = ("take", "adopt", "settle", "free", "line_came", "put", "accesses")
        flags_out += ("done", "undone", "replies", "clean", "read_miss", "write_miss", "write_back")
        super().__init__(
            {name: In(1) for name in flags_in}
            | {name: Out(1) for name in flags_out}
            | {
                "operation": In(operation_layout(config)),
                "found": In(found_layout(config)),
                "back": In(access.members["back"]),
                "spare": In(config.slot_width),
                "adopted": Out(config.slot_width),
                "change": Out(change_layout(config)),
                "outcome": Out(outcome_layout(config)),
                "what": Out(put_layout(config)),
                "access": Out(access),
            }
        )

    def build(self, platform):
        m = Module()
        operation = self.operation
        walks, fresh, evicts = Signal(), Signal(), Signal()
        begins, allocates = self.read(m), self.do_write(m)
        m.d.comb += [
            walks.eq(self.valid & operation.walk & self.found.dirty & self.room),
            self.clean.eq(self.valid & operation.walk & ~self.found.dirty),
            fresh.eq((begins | allocates) & ~self.found.present),
            evicts.eq((fresh & self.found.given_up) | walks),
            self.change.wanted.eq(operation.write | operation.beats.any()),
            self.change.replaces.eq(fresh),
            self.change.ahead.eq(begins & ~operation.beats.any()),
            self.change.write.eq(begins | allocates | self.adopt | self.line_came | walks),
        ]
        self.enter(m, begins, allocates, walks)
        self.send(m, evicts)
        self.give_access(m, begins, allocates, walks, fresh)
        return m

    def read(self, m: Module) -> Signal:
        """Look for what a read wants; return whether its line is read into a way from now on."""
        operation, outcome = self.operation, self.outcome
        present, found = self.found.present, self.found.entry
        reads, whole, answers, begins, passes = (
            Signal(name=n) for n in ("reads", "whole", "answers", "read_begins", "read_passes")
        )
        waits, fills, goes_on = (Signal(name=n) for n in ("read_waits", "fills", "goes_on"))
        room = ~self.found.given_up | self.room
        wants = operation.beats.any()
        m.d.comb += [
            reads.eq(self.valid & (operation.read | operation.retry)),
            whole.eq(present & ~(operation.beats & ~found.full).any()),
            answers.eq(
                reads & wants & whole & Mux(operation.retry, ~self.follows, self.is_ordered)
            ),
            begins.eq(
                reads & ~whole & ~self.going
                & Mux(present, ~found.pending, operation.allocates & self.found.has_way & room)
            ),
            passes.eq(
                reads & wants & ~present & ~self.going & ~(operation.allocates & self.found.has_way)
            ),
            outcome.fetches.eq(begins | passes),
            outcome.keeps.eq(begins),
            outcome.for_line.eq(reads & present & ~whole & found.pending),
            outcome.for_back.eq(reads & ~whole & ~outcome.for_line & ~outcome.fetches),
            outcome.stays.eq(self.valid & operation.fill & ~operation.keeps),
            self.adopt.eq(
                reads & operation.read & wants & present & ~whole & found.pending & found.ahead
            ),
            self.adopted.eq(found.slot),
            waits.eq(reads & ~answers & (wants | begins) & ~self.adopt),
            fills.eq(self.valid & operation.fill),
            # Its slot was taken over after it was chosen: who did that is answered later.
            goes_on.eq(self.follows | (operation.keeps & ~wants & ~found.ahead)),
            self.take.eq(waits & operation.read),
            self.settle.eq(waits | (fills & goes_on)),
            self.free.eq((answers & operation.retry) | (fills & ~goes_on)),
            self.line_came.eq(self.valid & operation.fill & operation.keeps),
            self.read_miss.eq(self.valid & operation.read & wants & ~whole),
            self.access.responds.eq(
                answers | (self.valid & operation.fill & wants & ~self.follows)
            ),
        ]  # fmt: skip
        return begins

    def do_write(self, m: Module) -> Value:
        """See whether a write can be done; return whether it is, into a way."""
        operation, found = self.operation, self.found
        writes, into, past, allows, keeps_order, needs_room = (
            Signal(name=n)
            for n in ("writes", "into", "past", "allows", "keeps_order", "needs_room")
        )
        evicts = into & ~found.present & found.given_up
        m.d.comb += [
            writes.eq(self.valid & operation.write),
            into.eq(~operation.is_empty & (found.present | (operation.allocates & found.has_way))),
            past.eq(~operation.is_empty & ~into),
            keeps_order.eq(self.owes & ~past),
            needs_room.eq(evicts | past | keeps_order),
            allows.eq(
                ~(self.passes & ~operation.is_empty)
                & ~(evicts & keeps_order)
                & (self.room | ~needs_room)
            ),
            self.done.eq(writes & allows),
            self.undone.eq(writes & ~allows),
            self.replies.eq(self.done & ~past & ~keeps_order),
            self.write_miss.eq(self.done & ~found.present & ~operation.is_empty),
            self.access.passes.eq(self.done & past),
            self.what.owes.eq(self.done & (past | keeps_order)),
        ]
        return self.done & into

    def enter(self, m: Module, begins, allocates, walks):
        """Say what the entry becomes."""
        operation, written, fills = self.operation, self.change.entry, self.line_came
        present, found = self.found.present, self.found.entry
        arrived = Cat(~operation.codes[2 * n + 1] for n in range(self.config.beats))
        with m.If(walks):
            m.d.comb += [written.eq(self.found.gone), written.dirty.eq(0)]
        with m.Else():
            m.d.comb += [
                written.tag.eq(self.config.tag_of(operation.line)),
                written.valid.eq(1),
                written.pending.eq(begins | (present & found.pending & ~fills)),
                written.dirty.eq(allocates | (present & found.dirty)),
                written.full.eq(
                    Mux(present, found.full, 0)
                    | Mux(allocates, operation.beats, 0)
                    | Mux(fills, arrived, 0)
                ),
                written.ahead.eq(
                    Mux(
                        begins,
                        ~operation.beats.any(),
                        present & found.ahead & ~self.adopt,
                    )
                ),
                written.slot.eq(Mux(begins, self.spare, found.slot)),
            ]

    def send(self, m: Module, evicts):
        """Say what goes to DRAM: the line that is given up, or what is written past the cache."""
        operation, config = self.operation, self.config
        old_line = config.line_of(self.found.gone.tag, config.set_of(operation.line))
        m.d.comb += [
            self.put.eq(evicts | self.access.passes | self.what.owes),
            self.what.has_line.eq(evicts | self.access.passes),
            self.what.line.eq(Mux(evicts, old_line, operation.line)),
            self.what.id.eq(operation.id),
            self.write_back.eq(evicts),
        ]

    def give_access(self, m: Module, begins, allocates, walks, fresh):
        """Say what is done with the bytes."""
        operation, access = self.operation, self.access
        reads = operation.read | operation.retry
        m.d.comb += [
            access.touches.eq(
                (reads & access.responds) | fresh | self.line_came | allocates | walks
            ),
            access.writes.eq(allocates),
            access.fills.eq(self.line_came),
            access.from_dram.eq(access.responds & operation.fill & ~operation.keeps),
            access.cleans.eq(walks),
            access.fresh.eq(fresh),
            access.pushes.eq(self.put),
            access.place.eq(Cat(self.found.way, self.config.set_of(operation.line))),
            access.id.eq(operation.id),
            access.beats.eq(operation.beats),
            access.full.eq(Mux(operation.fill, Mux(operation.keeps, self.found.entry.full, 0), ~0)),
            access.codes.eq(operation.codes),
            access.slot.eq(operation.slot),
            access.entry.eq(operation.entry),
            access.back.eq(self.back),
            self.accesses.eq(access.touches | access.from_dram | access.pushes),
        ]
