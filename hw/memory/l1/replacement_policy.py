"""Replacement policy of the L1 caches."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest

__all__ = ["ReplacementPolicy"]


class ReplacementPolicy(SharedBlock):
    """Replacement policy: selects an invalid way, else round-robin; never a `needed` way.

    Combinational. The round-robin pointer advances after a valid line is evicted.

    Parameters
    ----------
    config : int
        Ways.

    Members
    -------
    needed : In(ways)
        Ways that must not be replaced.
    valids : In(ways)
        Ways that hold a valid line.
    taken : In(1)
        The selected way is used.
    way : Out(ways)
        One-hot; 0 if all ways are needed.
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
