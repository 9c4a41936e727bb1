"""State of the warps of a core, from warp control to issue."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ..config import PipelineConfig

__all__ = ["WarpStateSignature"]


class WarpStateSignature(wiring.Signature):
    """State of the warps: active threads, waits, starts and resumptions.

    Members
    -------
    masks : Out(ArrayLayout(threads, warps))
        Active threads of each warp.
    at_barrier : Out(warps)
        Warps that wait at a barrier or sleep until a unit has made progress.
    started : Out(warps)
        Warps that start; active from the next cycle on.
    resume : Out(warps)
        The instruction that stalled the warp has completed; mask and next instruction are valid
        from the next cycle on.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "masks": Out(data.ArrayLayout(config.threads, config.warps)),
            "at_barrier": Out(config.warps),
            "started": Out(config.warps),
            "resume": Out(config.warps),
        })
