"""Replacement policy of a cache."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...emit.shared_block import SharedBlock
from ...lib.one_hot import lowest

__all__ = ["ReplacementConfig", "ReplacementPolicy", "ReplacementSignature"]


@dataclass(frozen=True, kw_only=True)
class ReplacementConfig:
    """Replacement in a set.

    Parameters
    ----------
    ways : int
    chances : int
        Replacements that a prefetched line survives without a demand access; 0 if prefetched
        lines are treated as any other.

    """

    ways: int
    chances: int = 0

    @property
    def layout(self) -> data.ArrayLayout:
        """Layout of the remaining chances of each way."""
        return data.ArrayLayout(ceil_log2(self.chances + 1), self.ways)


class ReplacementSignature(wiring.Signature):
    """State of a set, its victim and the update of the state, seen from the cache.

    Parameters
    ----------
    config : ReplacementConfig

    Members
    -------
    valid, pending : Out(config.ways)
        Ways with a line, and those whose line is in flight and must not be replaced.
    chances : Out(config.layout)
        Remaining chances of each way.
    victim : In(config.ways)
        One-hot if `has_way`, else 0.
    has_way : In(1)
        A victim exists.
    replaces : Out(1)
        The victim is replaced, by a prefetched line if `ahead`.
    ahead : Out(1)
    needed : Out(config.ways)
        One-hot: the way with a demand access.
    changes : In(1)
    becomes : In(config.layout)
        New chances of each way if `changes`.
    """

    def __init__(self, config: ReplacementConfig):
        ways = config.ways
        super().__init__(
            {name: Out(ways) for name in ("valid", "pending", "needed")}
            | {name: Out(1) for name in ("replaces", "ahead")}
            | {name: In(1) for name in ("has_way", "changes")}
            | {"chances": Out(config.layout), "victim": In(ways), "becomes": In(config.layout)}
        )


class ReplacementPolicy(SharedBlock):
    """Replacement policy: selects an invalid way, else round-robin; never a pending line.

    Prefetched lines are passed over until a demand access, or until their chances are used up
    (the clock algorithm with a counter). A lagging warp thus finds the lines prefetched for it
    and catches up while the others wait for DRAM. If they were evicted, it would miss on each
    line and never catch up. Combinational except for the round-robin pointer, which advances
    after a valid line is replaced.

    Parameters
    ----------
    config : ReplacementConfig

    Members are those of `ReplacementSignature`, seen from the other side.
    """

    def __init__(self, config: ReplacementConfig):
        self.config = config
        super().__init__(ReplacementSignature(config).flip())

    def build(self, platform):
        m = Module()
        ways = self.config.ways
        spared, allowed, unspared = (
            Signal(ways, name=name) for name in ("spared", "allowed", "unspared")
        )
        turn = Signal(ways, init=1)
        no_empty = Signal()
        m.d.comb += [
            spared.eq(Cat(self.chances[way].any() for way in range(ways))),
            allowed.eq(~self.pending),
            unspared.eq(allowed & ~spared),
            no_empty.eq(self.valid.all()),
            self.has_way.eq(allowed.any()),
            self.changes.eq(self.replaces | (self.needed & spared).any()),
        ]
        with m.If(~no_empty):
            m.d.comb += self.victim.eq(lowest(~self.valid))
        if self.config.chances:
            with m.Elif((unspared & turn).any()):
                m.d.comb += self.victim.eq(turn)
            with m.Elif(unspared.any()):
                m.d.comb += self.victim.eq(lowest(unspared))
        with m.Elif((allowed & turn).any()):
            m.d.comb += self.victim.eq(turn)
        with m.Else():
            m.d.comb += self.victim.eq(lowest(allowed))
        with m.If(self.replaces & no_empty):
            m.d.sync += turn.eq(turn.rotate_left(1))
        self.count(m, spared, Mux(self.replaces & no_empty, turn & ~self.victim, 0))
        return m

    def count(self, m: Module, spared: Value, passed: Value):
        """Drive the new chances: prefetched lines lose one when the turn has `passed` them."""
        for way in range(self.config.ways):
            with m.If(self.replaces & self.victim[way]):
                m.d.comb += self.becomes[way].eq(Mux(self.ahead, self.config.chances, 0))
            with m.Elif(self.needed[way]):
                m.d.comb += self.becomes[way].eq(0)
            with m.Else():
                m.d.comb += self.becomes[way].eq(self.chances[way] - (passed[way] & spared[way]))
