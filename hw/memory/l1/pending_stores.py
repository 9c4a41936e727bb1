"""Pending stores of the L1 data cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from .mshr import MshrConfig

__all__ = ["PendingStores"]


class PendingStores(SharedBlock):
    """Pending stores: holds the line of each write until memory has completed it, in order.

    A write is held from the cycle after `begin` to the cycle of its `done`, both included.

    Parameters
    ----------
    config : MshrConfig
        At most `config.waiters` writes are in flight.

    Members
    -------
    room : Out(1)
        One more write may begin.
    begin : In(1)
        A write to `begun` begins. Only if there is `room`.
    begun : In(config.cache.line_width)
    done : In(1)
        The oldest write is complete.
    line : In(config.cache.line_width)
    meets : Out(1)
        A write to `line` is in flight.
    busy : Out(1)
        Any write is in flight.
    """

    room: Signal
    begin: Signal
    begun: Signal
    done: Signal
    line: Signal
    meets: Signal
    busy: Signal

    def __init__(self, config: MshrConfig):
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
