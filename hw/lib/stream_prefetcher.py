"""Stream prefetcher: predicts the next lines from consecutive reads."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config.checks import require_integer
from ..emit.shared_block import SharedBlock
from .arbiter import Arbiter
from .one_hot import lowest, select

__all__ = ["BEHIND", "BEYOND", "STREAMS", "DemandSignature", "StreamConfig", "StreamPrefetcher"]

#: Streams tracked at a time.
STREAMS = 8
#: Lines of a stream before its front, and from its front on. Many warps share a stream and read
#: blocks of it in any order. The sum is a power of two.
BEHIND, BEYOND = 192, 64


@dataclass(frozen=True, kw_only=True)
class StreamConfig:
    """A stream prefetcher.

    Parameters
    ----------
    line_width : int
        Bits of a line's number. Consecutive lines have consecutive numbers.
    ahead : int
        Prefetch distance in lines after the one read, 1 to 128.

    """

    line_width: int
    ahead: int

    def __post_init__(self):
        require_integer("line_width", self.line_width, 10, 32)
        require_integer("ahead", self.ahead, 1, 128)


def stream_layout(config: StreamConfig) -> data.StructLayout:
    """Return the layout of a stream's state.

    ``front``: the first line neither read nor proposed. ``left``: lines to be proposed from
    there. ``sure``: two consecutive lines were read. ``used``: the stream was used since its
    last turn for replacement.
    """
    return data.StructLayout({
        "front": config.line_width,
        "left": range(config.ahead + BEYOND + 1),
        "sure": 1,
        "used": 1,
    })


class DemandSignature(wiring.Signature):
    """Lines that are read, as a prefetcher observes them, seen from the cache.

    Parameters
    ----------
    line_width : int

    Members
    -------
    valid : Out(1)
        `line` is read, and `missed` or not.
    line : Out(line_width)
    missed : Out(1)
    """

    def __init__(self, line_width: int):
        super().__init__({"valid": Out(1), "line": Out(line_width), "missed": Out(1)})


class StreamPrefetcher(SharedBlock):
    """Stream prefetcher: proposes each line once, up to `ahead` lines before it is first read.

    A missed line outside all streams begins a stream. A read of the next line confirms it; from
    then on lines are proposed up to `ahead` of each line read. Lines up to `BEHIND` before the
    front of a confirmed stream belong to it, in any order, and so do `BEYOND` lines from the
    front on; lines skipped in between are proposed too. Streams that overlap are merged. Isolated,
    random or descending lines propose nothing. A new stream replaces one of `STREAMS` that was
    not used for a round (the clock algorithm).

    | cycle | a line that is read                    |
    |-------|----------------------------------------|
    | 0     | `demand`                               |
    | 1     | its stream is found and advanced       |
    | 3     | the first line is proposed             |

    Streams are served round-robin, one line per cycle without a read.

    Parameters
    ----------
    config : StreamConfig

    Members
    -------
    demand : In(DemandSignature(config.line_width))
    drop : In(1)
        Drop all streams and proposals from the next cycle on.
    o : Out(stream.Signature(config.line_width))
    busy : Out(1)
        A line will be proposed, or a read arrives.
    """

    def __init__(self, config: StreamConfig):
        self.config = config
        super().__init__({
            "demand": In(DemandSignature(config.line_width)),
            "drop": In(1),
            "o": Out(stream.Signature(config.line_width)),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        layout = stream_layout(self.config)
        streams = [Signal(layout, name=f"stream_{n}") for n in range(STREAMS)]
        demand, missed, line = Signal(), Signal(), Signal.like(self.demand.line, reset_less=True)
        finds, first = Signal(STREAMS), Signal(STREAMS)
        turn, proposes = Signal(STREAMS, init=1), Signal(STREAMS)
        begins = Signal()
        m.d.sync += [
            demand.eq(self.demand.valid),
            missed.eq(self.demand.missed),
            line.eq(self.demand.line),
        ]
        m.submodules.turns = turns = Arbiter(STREAMS)
        moves = ~self.o.valid | self.o.ready
        m.d.comb += [
            first.eq(lowest(finds)),
            turns.requests.eq(Cat(s.left.any() for s in streams)),
            proposes.eq(Mux(moves & ~demand, turns.grant, 0)),
            turns.accept.eq(proposes.any()),
            begins.eq(demand & missed & ~finds.any()),
            self.busy.eq(Cat(self.demand.valid, demand, turns.requests, self.o.valid).any()),
        ]
        for number, one in enumerate(streams):
            self.follow(m, one, demand & first[number], line, finds[number])
            with m.If(demand & finds[number] & ~first[number]):
                m.d.sync += one.eq(0)
            with m.If(proposes[number]):
                m.d.sync += [one.front.eq(one.front + 1), one.left.eq(one.left - 1)]
            with m.If(begins & turn[number]):
                m.d.sync += one.used.eq(0)
                with m.If(~one.used):
                    m.d.sync += [one.front.eq(line + 1), one.left.eq(0), one.sure.eq(0)]
        with m.If(begins):
            m.d.sync += turn.eq(turn.rotate_left(1))
        with m.If(moves):
            m.d.sync += [
                self.o.valid.eq(proposes.any()),
                self.o.payload.eq(select(proposes, [one.front for one in streams])),
            ]
        with m.If(self.drop):
            m.d.sync += [demand.eq(0), self.o.valid.eq(0)]
            m.d.sync += [one.eq(0) for one in streams]
        return m

    def follow(self, m: Module, one: data.View, moves: Value, line: Signal, finds: Value):
        """Match a line with a stream; advance the stream if `moves`."""
        ahead = self.config.ahead
        place = Signal(self.config.line_width)  # distance of `line` below the stream's last line
        needed, is_next, is_near = Signal.like(one.left), Signal(), Signal()
        last = ahead + BEYOND
        m.d.comb += [
            place.eq(one.front - line + (BEYOND - 1)),
            is_near.eq(~place[exact_log2(BEHIND + BEYOND) :].any()),
            is_next.eq(place == BEYOND - 1),
            needed.eq(Mux(place < last, last - place, 0)),  # `front` up to `ahead` after `line`
            finds.eq(is_near & (one.sure | is_next | (place == BEYOND))),
        ]
        with m.If(moves):
            m.d.sync += one.used.eq(1)
            with m.If(is_next):
                m.d.sync += [
                    one.front.eq(line + 1),
                    one.left.eq(Mux(one.left > ahead, one.left - 1, ahead)),
                    one.sure.eq(1),
                ]
            with m.Elif(one.sure & (needed > one.left)):
                m.d.sync += one.left.eq(needed)
