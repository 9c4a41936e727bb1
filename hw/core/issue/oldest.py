"""Oldest-first warp scheduling policy."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import oldest

__all__ = ["Oldest"]


class Oldest(SharedBlock):
    """Oldest-first policy: grants the ready warp that was started first.

    Combinational from `ready` to `grant`. Among warps started in the same cycle the lower index is
    older, as after reset. Each warp has a mask of older warps; a warp is granted if none of them is
    ready.

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
    """

    def __init__(self, config: int):
        self.config = config
        super().__init__({"ready": In(config), "started": In(config), "grant": Out(config)})

    def build(self, platform):
        m = Module()
        stayed = Signal(self.config)
        elders = [
            Signal(self.config, init=(1 << warp) - 1, name=f"elders_{warp}")
            for warp in range(self.config)
        ]
        m.d.comb += [stayed.eq(~self.started), self.grant.eq(oldest(self.ready, elders))]
        for warp in range(self.config):
            with m.If(self.started[warp]):
                m.d.sync += elders[warp].eq(stayed | (1 << warp) - 1)
            with m.Else():
                m.d.sync += elders[warp].eq(elders[warp] & stayed)
        return m
