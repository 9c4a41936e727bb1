"""Oldest-first warp scheduling policy."""

from amaranth import *
from amaranth.lib.wiring import In

from ...emit.shared_block import SharedBlock
from ...lib.age_matrix import oldest
from .scheduling import SchedulingSignature

__all__ = ["Oldest", "oldest_warp"]


class Oldest(SharedBlock):
    """Oldest-first policy: grants the ready warp that was started first.

    Combinational from ``ready`` to ``grant``. Among warps started in the same cycle the lower index
    is older, as after reset.

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
        m.d.comb += self.warps.grant.eq(oldest_warp(m, self.warps.ready, self.warps.started))
        return m


def oldest_warp(m: Module, ready: Value, started: Value) -> Value:
    """Return the ready warp that was started first, one-hot.

    Each warp has a mask of older warps; a warp is granted if none of them is ready.
    """
    stayed = Signal(len(started))
    elders = [
        Signal(len(started), init=(1 << warp) - 1, name=f"elders_{warp}")
        for warp in range(len(started))
    ]
    m.d.comb += stayed.eq(~started)
    for warp, elder in enumerate(elders):
        with m.If(started[warp]):
            m.d.sync += elder.eq(stayed | (1 << warp) - 1)
        with m.Else():
            m.d.sync += elder.eq(elder & stayed)
    return oldest(ready, elders)
