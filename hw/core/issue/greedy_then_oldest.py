"""Greedy-then-oldest warp scheduling policy."""

from amaranth import *
from amaranth.lib.wiring import In

from ...emit.shared_block import SharedBlock
from .oldest import oldest_warp
from .scheduling import SchedulingSignature

__all__ = ["GreedyThenOldest"]


class GreedyThenOldest(SharedBlock):
    """Greedy-then-oldest policy: the warp last taken while ready, else the oldest ready warp.

    Combinational from ``ready`` to ``grant``.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    warps : In(SchedulingSignature(warps))
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({"warps": In(SchedulingSignature(config))})

    def build(self, platform):
        m = Module()
        warps = self.warps
        last = Signal(self.config)  # the warp last taken, one-hot
        greedy = Signal(self.config)
        m.d.comb += [
            greedy.eq(warps.ready & last),
            warps.grant.eq(Mux(greedy.any(), greedy, oldest_warp(m, warps.ready, warps.started))),
        ]
        with m.If(warps.accept):
            m.d.sync += last.eq(warps.grant)
        return m
