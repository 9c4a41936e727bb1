"""Which way of a set gives way to a line that is missing."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .arbiter import lowest

__all__ = ["VictimWay"]


class VictimWay(SharedBlock):
    """Choose a way that has no line, else the ways in turns; never one that is needed.

    Combinational; the turn passes on after a line was driven out.

    Parameters
    ----------
    config : int
        Ways.

    Members
    -------
    needed : In(ways)
        Ways that must stay.
    valids : In(ways)
        Ways that have any line.
    taken : In(1)
        The way that is chosen is used.
    way : Out(ways)
        One-hot; 0 where all are needed.
    """

    needed: Signal
    valids: Signal
    taken: Signal
    way: Signal

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "needed": In(config),
            "valids": In(config),
            "taken": In(1),
            "way": Out(config),
        })

    def build(self, platform):
        m = Module()
        allowed, empty = Signal.like(self.way), Signal.like(self.way)
        turn = Signal.like(self.way, init=1)
        m.d.comb += [allowed.eq(~self.needed), empty.eq(allowed & ~self.valids)]
        with m.If(empty.any()):
            m.d.comb += self.way.eq(lowest(empty))
        with m.Elif((allowed & turn).any()):
            m.d.comb += self.way.eq(turn)
        with m.Else():
            m.d.comb += self.way.eq(lowest(allowed))
        with m.If(self.taken & ~empty.any()):
            m.d.sync += turn.eq(turn.rotate_left(1))
        return m
