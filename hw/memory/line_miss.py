"""A line that is being read into a cache, and who waits for it."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ..config import CacheConfig
from ..shared_block import SharedBlock

__all__ = ["LineMiss", "MissConfig", "fill_layout"]


@dataclass(frozen=True, kw_only=True)
class MissConfig:
    """What misses of a cache are like.

    Parameters
    ----------
    cache : CacheConfig
    beat_bytes : int
        Bytes that come at a time, at most a line. A power of two.
    word_bytes : int
        Bytes that one request asks for, at most a beat. A power of two.
    waiters : int
        Requests that may wait, each with a number.

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
        """Bits of a word's number in its beat, the lowest of that."""
        return exact_log2(self.beat_bytes // self.word_bytes)

    @property
    def waiter_width(self) -> int:
        """Bits of a waiter's number."""
        return ceil_log2(self.waiters)


def fill_layout(config: MissConfig) -> data.StructLayout:
    """Layout of where the next beat of a line goes, and what is known of the line before it.

    ``fails``: a beat of it could not be read. ``forgotten``: it is not to be kept.
    """
    return data.StructLayout({
        "line": config.cache.line_width,
        "way": config.cache.ways,
        "beat": exact_log2(config.beats),
        "fails": 1,
        "forgotten": 1,
    })


class LineMiss(SharedBlock):
    """Know which line is being read and who waits, until all have been answered.

    Outputs tell of what is looked up in the same cycle; inputs take effect in the next.

    Parameters
    ----------
    config : MissConfig

    Members
    -------
    looks : In(1)
        Somebody looks `line` up.
    line : In(config.cache.line_width)
    wanted : In(1)
        Who looks wants to have it; else it is read ahead.
    waiter : In(config.waiters)
        Who that is, one-hot.
    joins : Out(1)
        It is being read; who wants it waits from now on.
    first_use : Out(1)
        It was read ahead, and is wanted for the first time.
    taken : Out(config.cache.ways)
        The way of its set in which this line is needed until all are answered.
    free : Out(1)
        Nothing is under way.
    begin : In(1)
        The line that is looked up is being read from now on, only where this is free, into
        `way`.
    way : In(config.cache.ways)
    filled : In(1)
        Its next beat came, with an error if `error`.
    error : In(1)
    fill : Out(fill_layout(config))
        Where that goes.
    invalidate : In(1)
        What is being read is not to be kept, nor waited for.
    replays : Out(1)
        The line is here and some still wait: `waiting`.
    waiting : Out(config.waiters)
    errors : Out(config.beats)
        Beats of it that could not be read.
    replayed : In(config.waiters)
        Who waits no more.
    """

    looks: Signal
    line: Signal
    wanted: Signal
    waiter: Signal
    joins: Signal
    first_use: Signal
    taken: Signal
    free: Signal
    begin: Signal
    way: Signal
    filled: Signal
    error: Signal
    fill: data.View
    invalidate: Signal
    replays: Signal
    waiting: Signal
    errors: Signal
    replayed: Signal

    def __init__(self, config: MissConfig):
        self.config = config
        super().__init__({
            "looks": In(1),
            "line": In(config.cache.line_width),
            "wanted": In(1),
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
        doomed = Signal()  # what is being read is not to be kept
        unused = Signal()  # it was read ahead, and nobody wanted it yet
        errors = Signal(self.config.beats)
        same_set, same, waits = Signal(), Signal(), Signal()
        m.d.comb += [
            same_set.eq(line[: cache.set_width] == self.line[: cache.set_width]),
            same.eq(same_set & (line[cache.set_width :] == self.line[cache.set_width :])),
            waits.eq(waiting.any()),
            self.joins.eq(self.looks & same & pending & ~doomed),
            self.first_use.eq(self.looks & self.wanted & same & unused),
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
            unused.eq(Mux(self.begin, ~self.wanted, unused & ~self.first_use) & ~self.invalidate),
            waiting.eq(
                (waiting & ~self.replayed)
                | Mux(self.wanted & (self.joins | self.begin), self.waiter, 0)
            ),
        ]
        last = self.count(m, errors)
        with m.If(self.filled & last):
            m.d.sync += pending.eq(0)
        with m.If(self.begin):
            m.d.sync += [line.eq(self.line), way.eq(self.way), pending.eq(1), errors.eq(0)]
        return m

    def count(self, m: Module, errors: Signal) -> Value:
        """Count beats and note errors; return whether the last is due. Back at 0 after it."""
        if self.config.beats == 1:
            with m.If(self.filled):
                m.d.sync += errors.eq(self.error)
            return C(1, 1)
        beat = Signal(exact_log2(self.config.beats))
        m.d.comb += self.fill.beat.eq(beat)
        with m.If(self.filled):
            m.d.sync += [beat.eq(beat + 1), errors.eq(errors | (self.error << beat))]
        return beat.all()
