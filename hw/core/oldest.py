"""Oldest first: the warp that was started before all others that are ready."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ..shared_block import SharedBlock
from .age_order import oldest

__all__ = ["Oldest"]


class Oldest(SharedBlock):
    """Choice of the ready warp that was started first.

    Combinational from `ready` to `grant`. Of warps started in the same cycle the lower number is
    the older, as it is after a reset. For each warp the set of those older than itself is kept: a
    warp is chosen if none of them is ready.

    Parameters
    ----------
    config : int
        Number of warps, 1 or more.

    Members
    -------
    ready : In(warps)
    started : In(warps)
        Becomes the youngest, from the next cycle on.
    grant : Out(warps)
        One-hot, 0 where none is ready.
    """

    ready: Signal
    started: Signal
    grant: Signal

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
