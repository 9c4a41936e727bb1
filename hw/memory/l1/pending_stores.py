"""Pending stores of the L1 data cache."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ..cache.cam import in_flight
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
    conflict : Out(1)
        A write to `line` is in flight.
    busy : Out(1)
        Any write is in flight.
    """

    def __init__(self, config: MshrConfig):
        self.config = config
        super().__init__({
            "room": Out(1),
            "begin": In(1),
            "begun": In(config.cache.line_width),
            "done": In(1),
            "line": In(config.cache.line_width),
            "conflict": Out(1),
            "busy": Out(1),
        })

    def build(self, platform):
        m = Module()
        count = self.config.waiters
        oldest, following = Signal(count, init=1), Signal(count, init=1)  # one-hot
        begins, ends = Signal(count), Signal(count)
        used, conflict = in_flight(m, begins, ends, self.begun, self.line)
        m.d.comb += [
            begins.eq(Mux(self.begin, following, 0)),
            ends.eq(Mux(self.done, oldest, 0)),
            self.room.eq(~(used & following).any()),
            self.conflict.eq(conflict),
            self.busy.eq(used.any()),
        ]
        with m.If(self.begin):
            m.d.sync += following.eq(following.rotate_left(1))
        with m.If(self.done):
            m.d.sync += oldest.eq(oldest.rotate_left(1))
        return m
