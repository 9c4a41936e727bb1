"""What becomes of what is looked up in a slice of the L2 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..emit import SharedBlock
from .arbiter import lowest, number_of, select
from .l2_layouts import L2SliceConfig, access_layout, entry_layout, operation_layout
from .l2_slot_states import outcome_layout
from .l2_write_backs import put_layout

__all__ = ["L2Lookup"]


class L2Lookup(SharedBlock):
    """Decide, in one cycle, from the entries of a set and from what is under way.

    A read is answered if its beats are here and no read of its id waits. Else its line is read:
    into the way it has, or one that is given up, or past the cache; unless somebody reads it
    already, or bytes of it are on their way to DRAM. A read of no beats, which nobody wants yet, is
    done if a way is to be had at once, else forgotten. A write needs no line to be read: what it
    does not write is not there. It waits while somebody reads its line past the cache, and for room
    on the way to DRAM. Given up are empty ways, then all in turn, none that is being read.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid : In(1)
    operation : In(operation_layout(config))
    entries : In(ArrayLayout(entry_layout(config), config.l2.ways))
        Of its set.
    is_ordered, follows, owes : In(1)
        What `L2Ids` knows.
    passes : In(1)
        What `L2Slots` knows.
    going, room : In(1)
        What `L2WriteBacks` knows.
    back : In
        The number of the next write-back.
    write : Out(config.l2.ways)
        Ways that become `written`.
    written : Out(entry_layout(config))
    take, settle, outcome, free, line_came : Out
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
    entries: data.View
    is_ordered: Signal
    follows: Signal
    passes: Signal
    going: Signal
    owes: Signal
    room: Signal
    back: Signal
    write: Signal
    written: data.View
    take: Signal
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
        entry, access = entry_layout(config), access_layout(config)
        flags_in = ("valid", "is_ordered", "follows", "passes", "going", "owes", "room")
        flags_out = ("take", "settle", "free", "line_came", "put", "accesses", "done", "undone")
        flags_out += ("replies", "clean", "read_miss", "write_miss", "write_back")
        super().__init__(
            {name: In(1) for name in flags_in}
            | {name: Out(1) for name in flags_out}
            | {
                "operation": In(operation_layout(config)),
                "entries": In(data.ArrayLayout(entry, config.l2.ways)),
                "back": In(access.members["back"]),
                "write": Out(config.l2.ways),
                "written": Out(entry),
                "outcome": Out(outcome_layout(config)),
                "what": Out(put_layout(config)),
                "access": Out(access),
            }
        )

    def build(self, platform):
        m = Module()
        config, operation = self.config, self.operation
        ways = range(config.l2.ways)
        hits, dirty, victim = (Signal(config.l2.ways, name=n) for n in ("hits", "dirty", "victim"))
        present, has_way, given_up = Signal(), Signal(), Signal()
        m.d.comb += [
            hits.eq(
                Cat(
                    self.entries[way].valid
                    & (self.entries[way].tag == config.tag_of(operation.line))
                    for way in ways
                )
            ),
            dirty.eq(Cat(self.entries[way].valid & self.entries[way].dirty for way in ways)),
            present.eq(hits.any()),
            given_up.eq((victim & dirty).any()),
        ]
        found, gone = Signal(entry_layout(config)), Signal(entry_layout(config))
        target, leaves = Signal(config.l2.ways), Signal(config.l2.ways)
        entries = [Value.cast(self.entries[way]) for way in ways]
        m.d.comb += [
            leaves.eq(Mux(operation.walk, lowest(dirty), victim)),
            target.eq(Mux(present & ~operation.walk, hits, leaves)),
            Value.cast(found).eq(select(hits, entries)),
            Value.cast(gone).eq(select(leaves, entries)),
        ]
        begins = self.read(m, present, found, has_way, given_up)
        allocates = self.do_write(m, present, has_way, given_up)
        self.choose(m, victim, has_way, (begins | allocates) & ~present)
        walks = Signal()
        m.d.comb += [
            walks.eq(self.valid & operation.walk & dirty.any() & self.room),
            self.clean.eq(self.valid & operation.walk & ~dirty.any()),
        ]
        fresh, evicts = Signal(), Signal()
        m.d.comb += [
            fresh.eq((begins | allocates) & ~present),
            evicts.eq((fresh & given_up) | walks),
        ]
        self.enter(m, present, found, gone, begins, allocates, walks)
        m.d.comb += self.write.eq(Mux(begins | allocates | self.line_came | walks, target, 0))
        self.send(m, gone, evicts)
        self.give_access(m, found, target, begins, allocates, walks, fresh)
        return m

    def choose(self, m: Module, victim: Signal, has_way: Signal, used: Value):
        """Find the way that is given up, if one is."""
        ways = self.config.l2.ways
        allowed, empty, turn = Signal(ways), Signal(ways), Signal(ways, init=1)
        m.d.comb += [
            allowed.eq(~Cat(self.entries[w].valid & self.entries[w].pending for w in range(ways))),
            empty.eq(~Cat(self.entries[w].valid for w in range(ways))),
            has_way.eq(allowed.any()),
        ]
        with m.If(empty.any()):
            m.d.comb += victim.eq(lowest(empty))
        with m.Elif((allowed & turn).any()):
            m.d.comb += victim.eq(turn)
        with m.Else():
            m.d.comb += victim.eq(lowest(allowed))
        with m.If(used & ~empty.any()):
            m.d.sync += turn.eq(turn.rotate_left(1))

    def read(self, m: Module, present, found, has_way, given_up) -> Signal:
        """Look for what a read wants; return whether its line is read into a way from now on."""
        operation, outcome = self.operation, self.outcome
        reads, whole, answers, begins, passes = (
            Signal(name=n) for n in ("reads", "whole", "answers", "read_begins", "read_passes")
        )
        room = ~given_up | self.room
        wants = operation.beats.any()
        m.d.comb += [
            reads.eq(self.valid & (operation.read | operation.retry)),
            whole.eq(present & ~(operation.beats & ~found.full).any()),
            answers.eq(
                reads & wants & whole & Mux(operation.retry, ~self.follows, self.is_ordered)
            ),
            begins.eq(
                reads & ~whole & ~self.going
                & Mux(present, ~found.pending, operation.allocates & has_way & room)
            ),
            passes.eq(reads & wants & ~present & ~self.going & ~(operation.allocates & has_way)),
            outcome.fetches.eq(begins | passes),
            outcome.keeps.eq(begins),
            outcome.for_line.eq(reads & present & ~whole & found.pending),
            outcome.for_back.eq(reads & ~whole & ~outcome.for_line & ~outcome.fetches),
            outcome.stays.eq(self.valid & operation.fill & ~operation.keeps),
            self.take.eq(reads & operation.read & ~answers & (wants | begins)),
            self.settle.eq(
                (reads & ~answers & (wants | begins))
                | (self.valid & operation.fill & self.follows)
            ),
            self.free.eq(
                (answers & operation.retry) | (self.valid & operation.fill & ~self.follows)
            ),
            self.line_came.eq(self.valid & operation.fill & operation.keeps),
            self.read_miss.eq(self.valid & operation.read & wants & ~whole),
            self.access.responds.eq(
                answers | (self.valid & operation.fill & wants & ~self.follows)
            ),
        ]  # fmt: skip
        return begins

    def do_write(self, m: Module, present, has_way, given_up) -> Value:
        """See whether a write can be done; return whether it is, into a way."""
        operation = self.operation
        writes, into, past, allows, keeps_order, needs_room = (
            Signal(name=n)
            for n in ("writes", "into", "past", "allows", "keeps_order", "needs_room")
        )
        evicts = into & ~present & given_up
        m.d.comb += [
            writes.eq(self.valid & operation.write),
            into.eq(~operation.is_empty & (present | (operation.allocates & has_way))),
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
            self.write_miss.eq(self.done & ~present & ~operation.is_empty),
            self.access.passes.eq(self.done & past),
            self.what.owes.eq(self.done & (past | keeps_order)),
        ]
        return self.done & into

    def enter(self, m: Module, present, found, gone, begins, allocates, walks):
        """Say what the entry becomes."""
        operation, written, fills = self.operation, self.written, self.line_came
        arrived = Cat(~operation.codes[2 * n + 1] for n in range(self.config.beats))
        with m.If(walks):
            m.d.comb += [written.eq(gone), written.dirty.eq(0)]
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
            ]

    def send(self, m: Module, gone, evicts):
        """Say what goes to DRAM: the line that is given up, or what is written past the cache."""
        operation, config = self.operation, self.config
        old_line = config.line_of(gone.tag, config.set_of(operation.line))
        m.d.comb += [
            self.put.eq(evicts | self.access.passes | self.what.owes),
            self.what.has_line.eq(evicts | self.access.passes),
            self.what.line.eq(Mux(evicts, old_line, operation.line)),
            self.what.id.eq(operation.id),
            self.write_back.eq(evicts),
        ]

    def give_access(self, m: Module, found, target, begins, allocates, walks, fresh):
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
            access.place.eq(Cat(number_of(target), self.config.set_of(operation.line))),
            access.id.eq(operation.id),
            access.beats.eq(operation.beats),
            access.full.eq(Mux(operation.fill, Mux(operation.keeps, found.full, 0), ~0)),
            access.codes.eq(operation.codes),
            access.slot.eq(operation.slot),
            access.entry.eq(operation.entry),
            access.back.eq(self.back),
            self.accesses.eq(access.touches | access.from_dram | access.pushes),
        ]
