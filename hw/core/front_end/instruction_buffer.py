"""Instruction buffer: decoded instructions of each warp, with all heads visible every cycle."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...lib.interfaces.core_memory import fetch_tag_layout
from ...lib.streams import ResponseSignature
from ..front_end_layouts import entry_layout, head_layout, position_width, redirect_layout
from .warp_buffer import WarpBuffer

__all__ = ["InstructionBuffer", "push_layout"]


def push_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a decoded pair pushed into the buffer of its warp."""
    return data.StructLayout({
        "tag": fetch_tag_layout(config),
        "entries": data.ArrayLayout(entry_layout(config), 2),
    })


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
    take : In(warps)
        Warps whose head is taken; only if it is valid.
    take_slot_1 : In(1)
        The warps in `take` also take the instruction after the head; only if it is valid.
        Ignored if `config.issue_width` is 1.
    heads : Out(head_layout(config)).array(issue_width, warps)
        ``heads[0]``: the next instruction of each warp; ``heads[1]``: the instruction after it.
    positions : Out(position_width(config)).array(warps)
        Lowest bits of the word address of each warp's next instruction.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "push": In(ResponseSignature(push_layout(config))),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "active": In(config.warps),
            "take": In(config.warps),
            "take_slot_1": In(1),
            "heads": Out(head_layout(config)).array(config.issue_width, config.warps),
            "positions": Out(position_width(config)).array(config.warps),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        tag = self.push.payload.tag
        for warp in range(config.warps):
            m.submodules[f"warp_{warp}"] = buffer = WarpBuffer(config)
            m.d.comb += [
                buffer.push.eq(self.push.valid & (tag.warp == warp)),
                buffer.pair.eq(tag.pair),
                buffer.entries.eq(self.push.payload.entries),
                buffer.redirect.eq(self.redirect.valid & (self.redirect.payload.warp == warp)),
                buffer.target.eq(self.redirect.payload.pc[2:]),
                buffer.active.eq(self.active[warp]),
                buffer.take.eq(self.take[warp]),
                buffer.take_slot_1.eq(self.take_slot_1),
                self.heads[0][warp].eq(buffer.head),
                self.positions[warp].eq(buffer.position),
            ]
            if config.issue_width == 2:
                m.d.comb += self.heads[1][warp].eq(buffer.slot_1_head)
        return m
