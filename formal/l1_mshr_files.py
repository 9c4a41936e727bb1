"""Proofs of the MSHR file: each waiter is answered once, with its word, and none is lost."""

from dataclasses import replace

from amaranth import *

from spica.hw.memory.l1.mshr_config import MshrConfig
from spica.hw.memory.l1.mshr_file import MshrFile
from spica.hw.memory.l1.signatures import fill_layout

from .l1_mshr_entry import Entry
from .l1_mshrs import SMALL
from .proof import Proof
from .properties import Assert, Assume, Properties, ones

__all__ = ["PROOFS"]


class Waiters(Properties):
    """All waiters, and one arbitrary waiter with the word that it requested.

    Assumptions: beats arrive only for lines being read. A line being read is not present unless it
    is marked as forgotten. No waiter requests twice, but a waiter may request again in the cycle of
    its answer.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        cache = config.cache
        entries = range(cache.mshrs)
        states = {
            "fill": ("fill", fill_layout(config)),
            "free": ("free", 1),
            "replays": ("replay__valid", 1),
            "waiting": ("replay__waiting", config.waiters),
            "errors": ("replay__errors", config.beats),
        }
        super().__init__(
            free={
                "lookup": 1,
                "present": 1,
                "valids": cache.ways,
                "line": cache.line_width,
                "is_demand": 1,
                "waiter": range(config.waiters),
                "place": config.place_width,
                "filled": 1,
                "filled_entry": config.entry_width,
                "error": 1,
                "invalidate": 1,
                "pause": 1,
            },
            fixed={"who": range(config.waiters)},
            inside={
                **{
                    f"{name}_{entry}": (f"table.line_{entry}.{port}", shape)
                    for name, (port, shape) in states.items()
                    for entry in entries
                },
                **{
                    f"place_{waiter}": (f"table.place_{waiter}", config.place_width)
                    for waiter in range(config.waiters)
                },
                "turn": ("table.replacement.turn", cache.ways),
            },
        )

    def state(self, m):
        config = self.config
        m.submodules.table = self.dut = dut = MshrFile(config)
        given = ("present", "valids", "line", "is_demand", "waiter", "place")
        m.d.comb += [getattr(dut.lookup, name).eq(getattr(self, name)) for name in given]
        m.d.comb += [
            dut.lookup.valid.eq(self.lookup),
            dut.refill.valid.eq(self.filled),
            dut.refill.entry.eq(self.filled_entry),
            dut.refill.error.eq(self.error),
            dut.invalidate.eq(self.invalidate),
            dut.replay.pause.eq(self.pause),
        ]
        self.entries = [Entry(config, number) for number in range(config.cache.mshrs)]
        waiter, replayed = Signal(config.waiters), Signal(config.waiters)
        waits = Signal(config.waiters)
        m.d.comb += [
            waiter.eq(1 << self.waiter),
            replayed.eq(dut.replay.valid << dut.replay.payload.waiter),
            waits.eq(joined(entry.waiting for entry in self.entries)),
            Assume(~(self.lookup & self.is_demand & (waits & waiter & ~replayed).any())),
            Assume(self.filled_entry < len(self.entries)),
        ]
        for number, entry in enumerate(self.entries):
            same = entry.line == self.line
            m.d.comb += [
                entry.begins.eq(dut.allocation.valid & (dut.allocation.payload.entry == number)),
                entry.joins.eq(self.lookup & same & entry.pending & ~entry.forgotten),
                entry.filled.eq(self.filled & (self.filled_entry == number)),
                entry.replayed.eq(Mux(entry.here, replayed, 0)),
                Assume(~entry.filled | entry.pending),
                Assume(~(self.present & entry.joins)),
            ]
            entry.step(m, self, waiter)
        self.check_lookups(m, dut)
        self.check_fill(m, dut)
        self.check_answer(m, dut)

    def check_lookups(self, m: Module, dut):
        """Assert that a lookup joins the MSHR of its line, or allocates one if there is room."""
        entries, joins, begins = self.entries, Signal(), dut.lookup.begins
        free = [~entry.live for entry in entries]
        usable = Cat(Mux(self.is_demand, free[0], 0), *free[1:]).any()
        in_set = [entry.live & (entry.set == self.line[: len(entry.set)]) for entry in entries]
        room = ones(in_set) < self.config.cache.ways
        m.d.comb += [
            joins.eq(Cat(entry.joins for entry in entries).any()),
            Assert(ones(entry.joins for entry in entries) <= 1),
            Assert(dut.lookup.joins == joins),
            Assert(~begins | (self.lookup & ~self.present & ~joins & usable)),
            Assert(begins | ~(self.lookup & ~self.present & ~joins & usable & room)),
            Assert(begins == ones(entry.begins for entry in entries)),
            Assert(dut.allocation.valid == begins),
            Assert(dut.allocation.payload.line == self.line),
            Assert(dut.busy == ~Cat(free).all()),
            Assert(dut.spare == Cat(free[1:]).any()),
        ]
        for number, entry in enumerate(entries):
            m.d.comb += Assert(~entry.begins | (free[number] & (self.is_demand | (number != 0))))

    def check_fill(self, m: Module, dut):
        """Assert that beats are written to ways that no other live entry uses."""
        fill = dut.refill.destination
        for number, entry in enumerate(self.entries):
            with m.If(entry.filled):
                m.d.sync += entry.way.eq(fill.way)
                m.d.comb += [
                    Assert(fill.line == entry.line),
                    Assert(fill.beat == entry.beat),
                    Assert(ones(fill.way) == 1),
                    Assert(~entry.has_way | (fill.way == entry.way)),
                    Assert(fill.fails == entry.errors.any()),
                    Assert(fill.forgotten == entry.forgotten),
                ]
                for other in self.entries[:number] + self.entries[number + 1 :]:
                    conflicts = other.has_way & (other.set == entry.set) & (other.way == fill.way)
                    m.d.comb += Assert(~conflicts)

    def check_answer(self, m: Module, dut):
        """Assert that a waiter is answered whenever possible, with its requested word."""
        config, replay = self.config, dut.replay.payload
        here = Cat(entry.here for entry in self.entries)
        self.requested_place = requested_place = Signal(config.place_width)
        with m.If(self.lookup & self.is_demand & (self.waiter == self.who)):
            m.d.sync += requested_place.eq(self.place)
        m.d.comb += Assert(dut.replay.valid == (here.any() & ~self.pause))
        for number, entry in enumerate(self.entries):
            with m.If(dut.replay.valid & entry.here & ~here[:number].any()):
                m.d.comb += [
                    Assert(entry.waiting.bit_select(replay.waiter, 1)),
                    Assert(~(entry.waiting & ((1 << replay.waiter) - 1)).any()),
                    Assert(replay.set == entry.set),
                    Assert(replay.way == entry.way),
                    Assert(
                        replay.error
                        == entry.errors.bit_select(replay.place[config.word_width :], 1)
                    ),
                ]
        answers_him = dut.replay.valid & (replay.waiter == self.who)
        m.d.comb += Assert(~answers_him | (replay.place == requested_place))

    def relate(self, m):
        places = Array(getattr(self, f"place_{n}") for n in range(self.config.waiters))
        m.d.comb += [Assert(places[self.who] == self.requested_place), Assert(ones(self.turn) == 1)]
        for number, entry in enumerate(self.entries):
            names = ("fill", "free", "replays", "waiting", "errors")
            fill, free, replays, waiting, errors = (
                getattr(self, f"{name}_{number}") for name in names
            )
            m.d.comb += [
                Assert(free == ~entry.live),
                Assert(replays == entry.here),
                Assert(waiting == entry.waiting),
                Assert(fill.line == entry.line),
                Assert(fill.beat == entry.beat),
                Assert(entry.pending | (fill.beat == 0)),
                Assert(errors == entry.errors),
                Assert(~entry.pending | ~(errors >> entry.beat).any()),
                Assert(~entry.has_way | (fill.way == entry.way)),
                Assert(~entry.pending | (fill.forgotten == entry.forgotten)),
                Assert(~entry.live | (ones(fill.way) == 1)),
            ]
            for before, other in enumerate(self.entries[:number]):
                conflicts = entry.live & other.live & (entry.set == other.set)
                m.d.comb += [
                    Assert(~conflicts | (fill.way != getattr(self, f"fill_{before}").way)),
                    Assert(~(entry.waiting & other.waiting).any()),
                ]
                twice = entry.pending & other.pending & (entry.line == other.line)
                m.d.comb += Assert(~twice | entry.forgotten | other.forgotten)


def joined(masks) -> Value:
    """Return the OR of masks."""
    total = C(0, 1)
    for mask in masks:
        total = total | mask
    return total


PROOFS = (
    Proof(
        name="mshr_file",
        says="each waiter is answered once, with its word, when its line is complete; an answer "
        "is given whenever possible; no two lines are refilled into one way",
        size="2 lines of 2 beats, 4 waiters, 2 ways",
        kind=Waiters,
        arguments=(SMALL,),
    ),
    Proof(
        name="mshr_file_4",
        says="the same",
        size="4 lines of 2 beats, 4 waiters, 2 ways",
        kind=Waiters,
        arguments=(replace(SMALL, cache=replace(SMALL.cache, mshrs=4)),),
    ),
)
