"""Replacement policy of the L2 cache."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest
from .layouts import L2SliceConfig, chances_layout

__all__ = ["CHANCES", "L2ReplacementPolicy"]

#: Replacements that a prefetched line survives without a demand access.
CHANCES = 3


class L2ReplacementPolicy(SharedBlock):
    """Replacement policy: selects an invalid way, else round-robin; never a pending line.

    Prefetched lines are passed over until a demand access, or until their chances are used up
    (the clock algorithm with a counter). A lagging warp thus finds the lines prefetched for it
    and catches up while the others wait for DRAM. If they were evicted, it would miss on each
    line and never catch up. Combinational except for the round-robin pointer.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid, pending : In(config.l2.ways)
        Ways with a line, and those whose line is in flight.
    chances : In(chances_layout(config))
        Remaining chances of each way.
    victim : Out(config.l2.ways)
        One-hot if `has_way`.
    has_way : Out(1)
        A victim exists.
    replaces : In(1)
        The victim is replaced, by a prefetched line if `ahead`.
    ahead : In(1)
    wanted : In(config.l2.ways)
        One-hot: the way with a demand access.
    changes : Out(1)
    becomes : Out(chances_layout(config))
        New chances of each way if `changes`.
    """

    valid: Signal
    pending: Signal
    chances: data.View
    victim: Signal
    has_way: Signal
    replaces: Signal
    ahead: Signal
    wanted: Signal
    changes: Signal
    becomes: data.View

    def __init__(self, config: L2SliceConfig):
        self.config = config
        ways = config.l2.ways
        super().__init__(
            {name: In(ways) for name in ("valid", "pending", "wanted")}
            | {name: In(1) for name in ("replaces", "ahead")}
            | {name: Out(1) for name in ("has_way", "changes")}
            | {
                "chances": In(chances_layout(config)),
                "victim": Out(ways),
                "becomes": Out(chances_layout(config)),
            }
        )

    def build(self, platform):
        m = Module()
        ways = self.config.l2.ways
        kept, allowed, unkept = (Signal(ways, name=name) for name in ("kept", "allowed", "unkept"))
        turn, passed, no_empty = Signal(ways, init=1), Signal(ways), Signal()
        m.d.comb += [
            kept.eq(Cat(self.chances[way].any() for way in range(ways))),
            allowed.eq(~self.pending),
            unkept.eq(allowed & ~kept),
            no_empty.eq(self.valid.all()),
            self.has_way.eq(allowed.any()),
            passed.eq(Mux(self.replaces & no_empty, turn & ~self.victim, 0)),
            self.changes.eq(self.replaces | (self.wanted & kept).any()),
        ]
        with m.If(~no_empty):
            m.d.comb += self.victim.eq(lowest(~self.valid))
        with m.Elif((unkept & turn).any()):
            m.d.comb += self.victim.eq(turn)
        with m.Elif(unkept.any()):
            m.d.comb += self.victim.eq(lowest(unkept))
        with m.Elif((allowed & turn).any()):
            m.d.comb += self.victim.eq(turn)
        with m.Else():
            m.d.comb += self.victim.eq(lowest(allowed))
        for way in range(ways):
            left = self.chances[way]
            with m.If(self.replaces & self.victim[way]):
                m.d.comb += self.becomes[way].eq(Mux(self.ahead, CHANCES, 0))
            with m.Elif(self.wanted[way]):
                m.d.comb += self.becomes[way].eq(0)
            with m.Else():
                m.d.comb += self.becomes[way].eq(left - (passed[way] & kept[way]))
        with m.If(self.replaces & no_empty):
            m.d.sync += turn.eq(turn.rotate_left(1))
        return m
