"""Warp table: active warps of a core and their thread masks."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock

__all__ = ["MaskChangeSignature", "ThreadMasksSignature", "WarpTable"]


class ThreadMasksSignature(wiring.Signature):
    """Thread mask of each warp, and the warps with active threads.

    Members
    -------
    mask : Out(ArrayLayout(threads, warps))
    active : Out(warps)
    """

    def __init__(self, config: PipelineConfig):
        masks = data.ArrayLayout(config.threads, config.warps)
        super().__init__({
            "mask": Out(masks, init=[1]),  # pyright: ignore[reportCallIssue]  # not in stubs
            "active": Out(config.warps, init=1),  # pyright: ignore[reportCallIssue]  # not in stubs
        })


class MaskChangeSignature(wiring.Signature):
    """Change of thread masks by an instruction.

    Members
    -------
    warps : Out(warps)
        One-hot, or 0: the warp that takes `mask`.
    mask : Out(threads)
    end : Out(1)
        Ends all warps; no other change in the same cycle.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "warps": Out(config.warps),
            "mask": Out(config.threads),
            "end": Out(1),
        })


class WarpTable(SharedBlock):
    """Warp table: thread mask of each warp, and the active warps.

    Changes take effect in the next cycle. After reset only thread 0 of warp 0 is active. A warp
    without active threads has ended.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    change : In(MaskChangeSignature(config))
    start : In(warps)
        Activates thread 0 of these warps; their other threads are unchanged.
    masks : Out(ThreadMasksSignature(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "change": In(MaskChangeSignature(config)),
            "start": In(config.warps),
            "masks": Out(ThreadMasksSignature(config)),
        })

    def build(self, platform):
        m = Module()
        change, masks = self.change, self.masks
        stays = masks.active & ~change.warps
        changed = Mux(change.mask.any(), change.warps, 0)
        m.d.sync += masks.active.eq(stays | changed | self.start)
        for warp in range(self.config.warps):
            with m.If(change.warps[warp]):
                m.d.sync += masks.mask[warp].eq(change.mask)
            with m.Elif(self.start[warp]):
                m.d.sync += masks.mask[warp][0].eq(1)
        with m.If(change.end):
            m.d.sync += [masks.active.eq(0), Value.cast(masks.mask).eq(0)]
        return m
