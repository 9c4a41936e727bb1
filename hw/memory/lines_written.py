"""Lines that writes are under way to."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .line_miss import MissConfig

__all__ = ["LinesWritten"]


class LinesWritten(SharedBlock):
    """Know the line of each write until memory has done it; they are done in their order.

    A write is known from the cycle after it began to the one in which it is done, both included.

    Parameters
    ----------
    config : MissConfig
        As many writes may be under way as requests may wait.

    Members
    -------
    room : Out(1)
        One more may begin.
    begin : In(1)
        A write to `begun` begins; only where there is room.
    begun : In(config.cache.line_width)
    done : In(1)
        The oldest is done.
    line : In(config.cache.line_width)
    meets : Out(1)
        A write to `line` is under way.
    busy : Out(1)
        Any is.
    """

    room: Signal
    begin: Signal
    begun: Signal
    done: Signal
    line: Signal
    meets: Signal
    busy: Signal

    def __init__(self, config: MissConfig):
        self.config = config
        super().__init__({
            "room": Out(1),
            "begin": In(1),
            "begun": In(config.cache.line_width),
            "done": In(1),
            "line": In(config.cache.line_width),
            "meets": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.waiters
        under_way, same = Signal(count), Signal(count)
        oldest, following = Signal(count, init=1), Signal(count, init=1)  # one-hot
        begins, ends = Signal(count), Signal(count)
        for number in range(count):
            line = Signal.like(self.line, name=f"line_{number}", reset_less=True)
            with m.If(begins[number]):
                m.d.sync += line.eq(self.begun)
            m.d.comb += same[number].eq(line == self.line)
        m.d.comb += [
            begins.eq(Mux(self.begin, following, 0)),
            ends.eq(Mux(self.done, oldest, 0)),
            self.room.eq(~(under_way & following).any()),
            self.meets.eq((under_way & same).any()),
            self.busy.eq(under_way.any()),
        ]
        m.d.sync += under_way.eq((under_way & ~ends) | begins)
        with m.If(self.begin):
            m.d.sync += following.eq(following.rotate_left(1))
        with m.If(self.done):
            m.d.sync += oldest.eq(oldest.rotate_left(1))
        return m
