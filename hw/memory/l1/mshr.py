"""Miss-status holding register (MSHR) of an L1 cache, and the config of misses."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ...config import CacheConfig
from ...emit.shared_block import SharedBlock

__all__ = ["Mshr", "MshrConfig", "fill_layout"]


@dataclass(frozen=True, kw_only=True)
class MshrConfig:
    """Miss handling of a cache.

    Parameters
    ----------
    cache : CacheConfig
    beat_bytes : int
        Bytes of a refill beat, at most a line. A power of two.
    word_bytes : int
        Bytes of one request, at most a beat. A power of two.
    waiters : int
        Requests that may wait at a time, each with its own number.

    """

    cache: CacheConfig
    beat_bytes: int
    word_bytes: int
    waiters: int

    @property
    def beats(self) -> int:
        """Beats of a line."""
        return self.cache.line_bytes // self.beat_bytes

    @property
    def place_width(self) -> int:
        """Bits of a word's number in its line."""
        return exact_log2(self.cache.line_bytes // self.word_bytes)

    @property
    def word_width(self) -> int:
        """Bits of a word's number in its beat, the low bits of its place."""
        return exact_log2(self.beat_bytes // self.word_bytes)

    @property
    def strobe_width(self) -> int:
        """Bits of the strobes of a write to the data array; 0 if beats are written whole."""
        return 0

    @property
    def waiter_width(self) -> int:
        """Bits of a waiting request's number."""
        return ceil_log2(self.waiters)


def fill_layout(config: MshrConfig) -> data.StructLayout:
    """Return the layout of the destination of a line's next beat, and the state of the line.

    ``fails``: an earlier beat could not be read. ``forgotten``: the line is not to be kept.
    """
    return data.StructLayout({
        "line": config.cache.line_width,
        "way": config.cache.ways,
        "beat": exact_log2(config.beats),
        "fails": 1,
        "forgotten": 1,
    })


class Mshr(SharedBlock):
    """MSHR: holds a line in flight and the requests that wait for it until all are answered.

    Outputs refer to the line looked up in the same cycle. Inputs take effect in the next.

    Parameters
    ----------
    config : MshrConfig

    Members
    -------
    lookup : In(1)
        `line` is looked up.
    line : In(config.cache.line_width)
    is_demand : In(1)
        A request needs the line; otherwise it is a prefetch.
    waiter : In(config.waiters)
        Number of the request, one-hot.
    joins : Out(1)
        The line is in flight. A request that needs it waits from now on.
    first_use : Out(1)
        The line was prefetched, and is requested for the first time.
    taken : Out(config.cache.ways)
        Way of the looked-up set that this MSHR reserves until all requests are answered.
    free : Out(1)
        No line is in flight and no request waits.
    begin : In(1)
        Allocate the MSHR to the looked-up line, to be read into `way`. Only if `free`.
    way : In(config.cache.ways)
    filled : In(1)
        The next beat of the line arrived, with an error if `error`.
    error : In(1)
    fill : Out(fill_layout(config))
        Destination of that beat.
    invalidate : In(1)
        The line in flight is not to be kept, and no later request may join it.
    replays : Out(1)
        The line is complete and requests still wait: `waiting`.
    waiting : Out(config.waiters)
    errors : Out(config.beats)
        Beats of the line that could not be read.
    replayed : In(config.waiters)
        Requests that are answered in this cycle.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "lookup": In(1),
            "line": In(config.cache.line_width),
            "is_demand": In(1),
            "waiter": In(config.waiters),
            "joins": Out(1),
            "first_use": Out(1),
            "taken": Out(config.cache.ways),
            "free": Out(1),
            "begin": In(1),
            "way": In(config.cache.ways),
            "filled": In(1),
            "error": In(1),
            "fill": Out(fill_layout(config)),
            "invalidate": In(1),
            "replays": Out(1),
            "waiting": Out(config.waiters),
            "errors": Out(config.beats),
            "replayed": In(config.waiters),
        })

    def build(self, platform):
        m = Module()
        cache = self.config.cache
        line, way = Signal.like(self.line, reset_less=True), Signal.like(self.way, reset_less=True)
        pending, waiting = Signal(), Signal(self.config.waiters)
        doomed = Signal()  # the line in flight is not to be kept
        unused = Signal()  # it was prefetched, and not requested yet
        errors = Signal(self.config.beats)
        same_set, same, waits = Signal(), Signal(), Signal()
        m.d.comb += [
            same_set.eq(line[: cache.set_width] == self.line[: cache.set_width]),
            same.eq(same_set & (line[cache.set_width :] == self.line[cache.set_width :])),
            waits.eq(waiting.any()),
            self.joins.eq(self.lookup & same & pending & ~doomed),
            self.first_use.eq(self.lookup & self.is_demand & same & unused),
            self.free.eq(~pending & ~waits),
            self.taken.eq(Mux(~self.free & same_set, way, 0)),
            self.replays.eq(~pending & waits),
            self.waiting.eq(waiting),
            self.errors.eq(errors),
            self.fill.line.eq(line),
            self.fill.way.eq(way),
            self.fill.fails.eq(errors.any()),
            self.fill.forgotten.eq(doomed),
        ]
        m.d.sync += [
            doomed.eq(self.invalidate | (doomed & ~self.begin)),
            unused.eq(
                Mux(self.begin, ~self.is_demand, unused & ~self.first_use) & ~self.invalidate
            ),
            waiting.eq(
                (waiting & ~self.replayed)
                | Mux(self.is_demand & (self.joins | self.begin), self.waiter, 0)
            ),
        ]
        last = self.count(m, errors)
        with m.If(self.filled & last):
            m.d.sync += pending.eq(0)
        with m.If(self.begin):
            m.d.sync += [line.eq(self.line), way.eq(self.way), pending.eq(1), errors.eq(0)]
        return m

    def count(self, m: Module, errors: Signal) -> Value:
        """Count beats and record errors; return whether the next is the last. Wraps to 0."""
        if self.config.beats == 1:
            with m.If(self.filled):
                m.d.sync += errors.eq(self.error)
            return C(1, 1)
        beat = Signal(exact_log2(self.config.beats))
        m.d.comb += self.fill.beat.eq(beat)
        with m.If(self.filled):
            m.d.sync += [beat.eq(beat + 1), errors.eq(errors | (self.error << beat))]
        return beat.all()
