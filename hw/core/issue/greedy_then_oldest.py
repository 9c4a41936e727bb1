"""Greedy-then-oldest warp scheduling policy."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from .oldest import Oldest

__all__ = ["GreedyThenOldest"]


class GreedyThenOldest(SharedBlock):
    """Greedy-then-oldest policy: the warp last taken while ready, else the oldest ready warp.

    Combinational from `ready` to `grant`.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    ready : In(warps)
    started : In(warps)
        Warps that become the youngest from the next cycle on.
    grant : Out(warps)
        One-hot; 0 if none is ready.
    taken : In(1)
        The grant was used; only with a grant.
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({
            "ready": In(config),
            "started": In(config),
            "grant": Out(config),
            "taken": In(1),
        })

    def build(self, platform):
        m = Module()
        m.submodules.oldest = oldest = Oldest(self.config)
        last = Signal(self.config)  # the warp last taken, one-hot
        greedy = Signal(self.config)
        m.d.comb += [
            oldest.ready.eq(self.ready),
            oldest.started.eq(self.started),
            greedy.eq(self.ready & last),
            self.grant.eq(Mux(greedy.any(), greedy, oldest.grant)),
        ]
        with m.If(self.taken):
            m.d.sync += last.eq(self.grant)
        return m
