"""Proofs of one MSHR: a line being read, and its waiters until they are answered."""

from typing import Any

from amaranth import *

from spica.hw.config import CacheConfig
from spica.hw.memory.l1.mshr import Mshr
from spica.hw.memory.l1.mshr_config import MshrConfig
from spica.hw.memory.l1.signatures import fill_layout

from .proof import Proof
from .properties import Assert, Assume, Properties

__all__ = ["PROOFS", "SMALL"]

#: Two sets of two ways, lines of two beats of two words.
SMALL = MshrConfig(
    cache=CacheConfig(size=32, ways=2, line_bytes=8, mshrs=2, prefetch=1),
    beat_bytes=4,
    word_bytes=2,
    waiters=4,
)


class OneLine(Properties):
    """A waiter waits until it is answered, after the whole line was read.

    Assumptions: a line is allocated only in a free MSHR. Beats arrive only for a line being read.
    Only waiters of a complete line are answered, and no waiter requests twice.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__(
            free={
                "lookup": 1,
                "line": config.cache.line_width,
                "is_demand": 1,
                "waiter": range(config.waiters),
                "begin": 1,
                "way": config.cache.ways,
                "filled": 1,
                "error": 1,
                "invalidate": 1,
                "replayed": config.waiters,
            },
            inside={"kept_unused": ("miss.unused", 1)},
        )

    def state(self, m):
        config = self.config
        m.submodules.miss = self.dut = dut = Mshr(config)
        events, replay = dut.events, dut.replay
        given = ("lookup", "line", "is_demand", "error", "invalidate")
        m.d.comb += [getattr(events, name).eq(getattr(self, name)) for name in given]
        m.d.comb += [
            dut.allocate.valid.eq(self.begin),
            dut.allocate.payload.eq(self.way),
            dut.filled.eq(self.filled),
            replay.replayed.eq(self.replayed),
        ]
        waiter = Signal(config.waiters)
        self.pending, self.waiting = pending, waiting = Signal(), Signal(config.waiters)
        expected: Any = Signal(fill_layout(config))
        self.expected = expected
        self.errors, self.unused = errors, unused = Signal(config.beats), Signal()
        same, joins, here = Signal(), Signal(), Signal()
        m.d.comb += [
            waiter.eq(1 << self.waiter),
            events.waiter.eq(waiter),
            same.eq(expected.line == self.line),
            joins.eq(self.lookup & same & pending & ~expected.forgotten),
            here.eq(~pending & waiting.any()),
            Assume(~self.begin | (self.lookup & ~pending & ~waiting.any())),
            Assume(~self.filled | pending),
            Assume(~(self.replayed & ~Mux(here, waiting, 0)).any()),
            Assume(~(self.lookup & self.is_demand & (waiting & waiter & ~self.replayed).any())),
        ]
        m.d.sync += waiting.eq(
            (waiting & ~self.replayed) | Mux(self.is_demand & (joins | self.begin), waiter, 0)
        )
        with m.If(self.begin):
            m.d.sync += [
                pending.eq(1),
                expected.line.eq(self.line),
                expected.way.eq(self.way),
                expected.beat.eq(0),
                errors.eq(0),
                unused.eq(~self.is_demand & ~self.invalidate),
                expected.forgotten.eq(self.invalidate),
            ]
        with m.Else():
            with m.If(self.invalidate | (self.lookup & self.is_demand & same)):
                m.d.sync += unused.eq(0)
            with m.If(self.invalidate):
                m.d.sync += expected.forgotten.eq(1)
        with m.If(self.filled):
            m.d.sync += [
                expected.beat.eq(expected.beat + 1),
                errors.bit_select(expected.beat, 1).eq(self.error),
                pending.eq(expected.beat != config.beats - 1),
            ]
        kept_set = expected.line[: config.cache.set_width]
        same_set = kept_set == self.line[: config.cache.set_width]
        live = pending | waiting.any()
        m.d.comb += [
            Assert(dut.joins == joins),
            Assert(dut.free == ~live),
            Assert(dut.reserved == Mux(live & same_set, expected.way, 0)),
            Assert(replay.valid == here),
            Assert(~here | (replay.waiting == waiting)),
            Assert(~here | (replay.errors == errors)),
            Assert(~pending | (dut.fill.beat == expected.beat)),
            Assert(~pending | (dut.fill.fails == errors.any())),
            Assert(~pending | (dut.fill.forgotten == expected.forgotten)),
            Assert(~live | (dut.fill.line == expected.line)),
            Assert(~live | (dut.fill.way == expected.way)),
            Assert(~here | (Cat(replay.set, replay.way) == Cat(kept_set, expected.way))),
            Assert(~live | (dut.first_use == (self.lookup & self.is_demand & same & unused))),
        ]

    def relate(self, m):
        dut, replay, expected = self.dut, self.dut.replay, self.expected
        m.d.comb += [
            Assert(replay.waiting == self.waiting),
            Assert(dut.fill.line == expected.line),
            Assert(dut.fill.beat == expected.beat),
            Assert(self.pending | (expected.beat == 0)),
            Assert(replay.errors == self.errors),
            Assert(~self.pending | ~(self.errors >> expected.beat).any()),
            Assert(self.kept_unused == self.unused),
        ]


PROOFS = (
    Proof(
        name="mshr",
        says="a waiter of the line waits until it is answered, once the line is complete",
        size="4 waiters, 2 beats",
        kind=OneLine,
        arguments=(SMALL,),
    ),
)
