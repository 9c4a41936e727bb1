"""Warp table: active warps of a core and their thread masks."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock

__all__ = ["WarpTable"]


class WarpTable(SharedBlock):
    """Warp table: thread mask of each warp, and the active warps.

    Changes take effect in the next cycle. After reset only thread 0 of warp 0 is active. A warp
    without active threads has ended.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    change : In(warps)
        One-hot, or 0: the warp that takes `change_mask`.
    change_mask : In(threads)
    start : In(warps)
        Activates thread 0 of these warps; their other threads are unchanged.
    end : In(1)
        Ends all warps; no other change in the same cycle.
    mask : Out(ArrayLayout(threads, warps))
    active : Out(warps)
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "change": In(config.warps),
            "change_mask": In(config.threads),
            "start": In(config.warps),
            "end": In(1),
            "mask": Out(data.ArrayLayout(config.threads, config.warps), init=[1]),  # pyright: ignore[reportCallIssue]  # not in stubs
            "active": Out(config.warps, init=1),  # pyright: ignore[reportCallIssue]  # not in stubs
        })

    def build(self, platform):
        m = Module()
        stays = self.active & ~self.change
        changed = Mux(self.change_mask.any(), self.change, 0)
        m.d.sync += self.active.eq(stays | changed | self.start)
        for warp in range(self.config.warps):
            with m.If(self.change[warp]):
                m.d.sync += self.mask[warp].eq(self.change_mask)
            with m.Elif(self.start[warp]):
                m.d.sync += self.mask[warp][0].eq(1)
        with m.If(self.end):
            m.d.sync += [self.active.eq(0), Value.cast(self.mask).eq(0)]
        return m
