"""Proofs of the stream prefetcher: near requested lines, each line once, nothing after a drop."""

from amaranth import *

from spica.hw.lib.stream_prefetcher import BEYOND, STREAMS, StreamConfig, StreamPrefetcher
from spica.hw.lib.stream_prefetcher import stream_layout as layout_of

from .proof import Proof
from .properties import Assert, Assume, Properties, ones

__all__ = ["PROOFS"]

SMALL = StreamConfig(line_width=10, ahead=2)


class Ahead(Properties):
    """A line is proposed only near a line requested since streams were last forgotten.

    The proposed line is at most `ahead` lines beyond a requested one, or less than `BEYOND` before
    it. A proposal stays until it is taken or forgotten, and `busy` is set meanwhile.
    """

    def __init__(self, config: StreamConfig):
        self.config = config
        layout = layout_of(config)
        super().__init__(
            free={"demand": 1, "line": config.line_width, "missed": 1, "drop": 1, "takes": 1},
            fixed={"which": config.line_width},
            inside={f"stream_{n}": (f"ahead.stream_{n}", layout) for n in range(STREAMS)},
        )

    @property
    def streams(self) -> list:
        """Registers of the block."""
        return [getattr(self, f"stream_{n}") for n in range(STREAMS)]

    def state(self, m):
        m.submodules.ahead = self.dut = dut = StreamPrefetcher(self.config)
        m.d.comb += [
            dut.demand.valid.eq(self.demand),
            dut.demand.line.eq(self.line),
            dut.demand.missed.eq(self.missed),
            dut.drop.eq(self.drop),
            dut.o.ready.eq(self.takes),
        ]
        self.after = after = Signal(self.config.line_width)  # from a requested line to `which`
        self.near, self.held, before = Signal(), Signal(), Signal.like(dut.o.payload)
        last = Signal.like(after)
        m.d.comb += [
            after.eq(self.which - self.line),
            last.eq(after + BEYOND - 1),
            Assert(~self.shows | self.near),
            Assert(~self.held | (dut.o.valid & (dut.o.payload == before))),
            Assert(~dut.o.valid | dut.busy),
        ]
        m.d.sync += [
            before.eq(dut.o.payload),
            self.held.eq(dut.o.valid & ~self.takes & ~self.drop),
            self.near.eq(
                ~self.drop & (self.near | (self.demand & (last < BEYOND + self.config.ahead)))
            ),
        ]

    @property
    def shows(self) -> Value:
        """Whether line `which` is proposed."""
        return self.dut.o.valid & (self.dut.o.payload == self.which)

    def relate(self, m):
        for one in self.streams:
            m.d.comb += Assert(~self.is_left(m, one) | self.near)

    def is_left(self, m: Module, one) -> Value:
        """Return whether a stream is still to propose line `which`."""
        place = Signal(self.config.line_width)
        m.d.comb += place.eq(self.which - one.front)
        return place < one.left


class Once(Ahead):
    """Each line of a stream is proposed once, until the stream is far beyond it.

    Assumptions: at most one stream is begun between forgets. Neither the first nor the last of all
    lines is requested: they belong to a stream that has not begun.
    """

    #: Distance beyond `which` from which it may be proposed in another pass.
    FAR = range(400, 600)

    def state(self, m):
        super().state(m)
        self.gone, self.offers, begun = Signal(), Signal(), Signal()
        self.beginning, beyond = Signal.like(self.line), Signal.like(self.line)
        m.d.comb += [
            beyond.eq(self.line - self.which),
            self.offers.eq(self.shows & ~self.held),
            Assume((self.line != 0) & ~self.line.all()),
            Assume(~(self.demand & self.missed & begun)),
            Assert(~(self.offers & self.gone)),
        ]
        m.d.sync += begun.eq(~self.drop & (begun | (self.demand & self.missed)))
        is_far = self.demand & (beyond >= self.FAR[0]) & (beyond <= self.FAR[-1])
        m.d.sync += self.gone.eq(~self.drop & ~is_far & (self.gone | self.offers))
        with m.If(self.demand & self.missed):
            m.d.sync += self.beginning.eq(self.line + 1)
        # Request of the previous cycle, which the block processes now.
        self.is_demand, self.was_far, self.was_missed, self.was_begun = (Signal() for _ in range(4))
        m.d.sync += [
            self.was_begun.eq(begun & ~self.drop),
            self.is_demand.eq(self.demand & ~self.drop),
            self.was_far.eq(is_far),
            self.was_missed.eq(self.missed),
        ]

    def relate(self, m):
        super().relate(m)
        most = self.FAR[0] + self.config.ahead
        begins, exist = self.is_demand & self.was_missed, [s.as_value().any() for s in self.streams]
        m.d.comb += [
            # The next stream to be allocated is unknown: several may hold the same state.
            Assert(~Cat(exist).any() | self.was_begun),
            Assert(~Cat(one.sure for one in self.streams).any() | (ones(exist) == 1)),
            Assert(~begins | ~self.was_begun),
        ]
        for one, exists in zip(self.streams, exist, strict=True):
            place = Signal(self.config.line_width)
            m.d.comb += [
                place.eq(one.front - self.which),
                Assert(~exists | one.sure | ((one.left == 0) & (one.front == self.beginning))),
                Assert(~(exists & self.offers) | ((place == 1) & one.sure)),
                Assert(~(exists & self.gone) | ((place - 1 + one.left <= most) & (place != 0))),
            ]
        m.d.comb += [
            Assert(~(self.gone | self.offers) | (ones(one.sure for one in self.streams) == 1)),
            Assert(~(self.gone & self.is_demand) | ~self.was_far),
        ]


PROOFS = (
    Proof(
        name="stream_prefetcher",
        says="a line is proposed only near one requested since streams were forgotten; a proposal "
        "stays until it is taken",
        size="8 streams, 1,024 lines, 2 of them ahead",
        kind=Ahead,
        arguments=(SMALL,),
    ),
    Proof(
        name="stream_prefetcher_once",
        says="each line of a stream is proposed once, until the stream is far beyond it",
        size="1 stream of 8, 1,024 lines, 2 of them ahead",
        kind=Once,
        arguments=(SMALL,),
        depth=3,
    ),
)
