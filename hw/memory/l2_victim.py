"""Which way of a set of the L2 cache gives up its line."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .arbiter import lowest
from .l2_layouts import L2SliceConfig, chances_layout

__all__ = ["CHANCES", "L2Victim"]

#: How often a line that was read ahead is passed over before it is given up unread.
CHANCES = 3


class L2Victim(SharedBlock):
    """Choose an empty way, else all in turn, none that is being read.

    Lines that were read ahead are passed over until somebody wants them, or until they had their
    chances: a warp that is behind the others finds the lines that were read for it, and catches up,
    while the others wait for DRAM. Where they were given up it would wait for each line alone, and
    never catch up. A line for which nobody comes is given up after all (as by the clock
    algorithm with a counter). Combinational but for the turn.

    Parameters
    ----------
    config : L2SliceConfig

    Members
    -------
    valid, pending : In(config.l2.ways)
        Ways with a line, and those whose line is being read.
    chances : In(chances_layout(config))
        What is left to each way.
    victim : Out(config.l2.ways)
        One-hot if `has_way`.
    has_way : Out(1)
        Some way may be given up.
    replaces : In(1)
        The victim gives up its line to one that is read `ahead`, or not.
    ahead : In(1)
    wanted : In(config.l2.ways)
        A way whose line is wanted.
    changes : Out(1)
    becomes : Out(chances_layout(config))
        What is left to each way if it `changes`.
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
