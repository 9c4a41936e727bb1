"""Instruction buffer: decoded instructions of each warp, with all heads visible every cycle."""

from amaranth import *
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.streams import ResponseSignature
from ..front_end_layouts import position_width, redirect_layout
from .warp_buffer import WarpBuffer, WarpInstructionsSignature, push_layout

__all__ = ["InstructionBuffer"]


class InstructionBuffer(SharedBlock):
    """Instruction buffer: holds up to `config.instruction_buffer` instructions of each warp.

    A pushed pair is visible in the next cycle; one pair per cycle. Any number of warps may be
    taken from in a cycle; the next head follows the instructions taken. The buffer never
    overflows: fetch uses `positions` to limit its requests to the free space.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    push : In(ResponseSignature(push_layout(config)))
    redirect : In(ResponseSignature(redirect_layout(config)))
        Redirects the warp to this pc. Its buffered instructions, and a push for it in this cycle,
        are dropped.
    active : In(warps)
        Heads of inactive warps are not valid.
    warps : Out(WarpInstructionsSignature(config)).array(warps)
    positions : Out(position_width(config)).array(warps)
        Lowest bits of the word address of each warp's next instruction.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "push": In(ResponseSignature(push_layout(config))),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "active": In(config.warps),
            "warps": Out(WarpInstructionsSignature(config)).array(config.warps),
            "positions": Out(position_width(config)).array(config.warps),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        for number, warp in enumerate(self.warps):
            m.submodules[f"warp_{number}"] = buffer = WarpBuffer(config)
            connect(m, flipped(self.push), buffer.push)
            connect(m, flipped(self.redirect), buffer.redirect)
            connect(m, buffer.instructions, flipped(warp))
            m.d.comb += [
                buffer.number.eq(number),
                buffer.active.eq(self.active[number]),
                self.positions[number].eq(buffer.position),
            ]
        return m
