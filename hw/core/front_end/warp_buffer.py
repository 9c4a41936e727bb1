"""Instruction buffer of one warp: decoded instructions that wait for issue."""

from collections.abc import Sequence

from amaranth import *
from amaranth.hdl import ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import ENTRY
from ...lib.interfaces.core_memory import fetch_tag_layout, pairs, warp_shape
from ...lib.streams import ResponseSignature
from ..front_end_layouts import entry_layout, head_layout, position_width, redirect_layout

__all__ = ["WarpBuffer", "WarpInstructionsSignature", "push_layout"]


def by_bits(index: Value, values: Sequence[ValueLike]) -> Value:
    """Return the entry of `values`, a power of two of them, at `index`."""
    values = [Value.cast(value) for value in values]
    for bit in range(len(index)):
        values = [Mux(index[bit], b, a) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def push_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a decoded pair pushed into the buffer of its warp."""
    return data.StructLayout({
        "tag": fetch_tag_layout(config),
        "entries": data.ArrayLayout(entry_layout(config), 2),
    })


class WarpInstructionsSignature(wiring.Signature):
    """Next instructions of a warp, seen from their buffer.

    Members
    -------
    heads : Out(head_layout(config)).array(issue_width)
        ``heads[0]``: the next instruction; ``heads[1]``: the instruction after it.
    take : In(1)
        The head is taken; only if it is valid.
    take_slot_1 : In(1)
        With `take`: the instruction after the head is taken too; only if it is valid. Ignored if
        `config.issue_width` is 1.
    """

    def __init__(self, config: PipelineConfig):
        super().__init__({
            "heads": Out(head_layout(config)).array(config.issue_width),
            "take": In(1),
            "take_slot_1": In(1),
        })


class WarpBuffer(SharedBlock):
    """Instruction buffer of one warp.

    The address of an instruction determines its slot, so pairs may arrive in any order. A push is
    visible in the next cycle. After reset the warp starts at `ENTRY`.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    number : In(warp_shape(config))
        Index of the warp, a constant.
    push : In(ResponseSignature(push_layout(config)))
        Pair of any warp; one of this warp is pushed into its slot, which is free.
    redirect : In(ResponseSignature(redirect_layout(config)))
        Of any warp; this one drops everything, a push in this cycle included, and continues there.
    active : In(1)
        An inactive warp has no valid head.
    instructions : Out(WarpInstructionsSignature(config))
    position : Out(position_width(config))
        Lowest bits of the head's word address, also if the head is not valid yet.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "number": In(warp_shape(config)),
            "push": In(ResponseSignature(push_layout(config))),
            "redirect": In(ResponseSignature(redirect_layout(config))),
            "active": In(1),
            "instructions": Out(WarpInstructionsSignature(config)),
            "position": Out(position_width(config)),
        })

    def build(self, platform):
        m = Module()
        config, instructions = self.config, self.instructions
        count, tag, redirect = pairs(config), self.push.payload.tag, self.redirect.payload
        at_head = Signal(ceil_log2(count))
        pc = Signal(30, init=ENTRY >> 2)
        after = Signal(30)
        is_odd = pc[0]
        held = Signal(count)  # slots with a pair
        places = [
            Signal(entry_layout(config), name=f"entry_{n}", reset_less=True)
            for n in range(2 * count)
        ]
        pushes = self.push.valid & (tag.warp == self.number)
        pushed = Cat(pushes & (tag.pair == n) for n in range(count))
        for n in range(count):
            with m.If(pushed[n]):
                m.d.sync += [places[2 * n + k].eq(self.push.payload.entries[k]) for k in range(2)]

        takes_slot_1 = instructions.take_slot_1 if config.issue_width == 2 else Const(0)
        # The pair at the head is freed when its second word is taken.
        done = Cat(
            instructions.take & (is_odd | takes_slot_1) & (at_head == n) for n in range(count)
        )
        m.d.comb += [
            at_head.eq(pc[1:]),
            after.eq(pc + 1),
            self.position.eq(pc),
        ]
        with m.If(instructions.take):
            m.d.sync += pc.eq(Mux(takes_slot_1, pc + 2, after))
        m.d.sync += held.eq((held | pushed) & ~done)
        with m.If(self.redirect.valid & (redirect.warp == self.number)):
            m.d.sync += [pc.eq(redirect.pc[2:]), held.eq(0)]

        even, odd = by_bits(at_head, places[::2]), by_bits(at_head, places[1::2])
        valid, heads = Signal(), instructions.heads
        m.d.comb += [
            valid.eq(by_bits(at_head, list(held)) & self.active),
            heads[0].valid.eq(valid),
        ]
        self.show(m, heads[0], Mux(is_odd, odd, even), pc)
        if config.issue_width == 2:
            # The even word of the next pair follows the odd word of a pair.
            turn = [(n + 1) % count for n in range(count)]
            next_even = by_bits(at_head, [places[2 * n] for n in turn])
            next_held = by_bits(at_head, [held[n] for n in turn]) if count > 1 else 0
            self.show(m, heads[1], Mux(is_odd, next_even, odd), after)
            m.d.comb += heads[1].valid.eq(valid & (~is_odd | next_held))
        return m

    def show(self, m: Module, head: data.View, entry: Value, pc: Value):
        """Drive `head` with an entry and its word address."""
        layout = entry_layout(self.config)
        fields = layout(entry)
        m.d.comb += head.instruction.pc.eq(Cat(Const(0, 2), pc))
        for name, _ in layout:
            m.d.comb += getattr(head.instruction, name).eq(getattr(fields, name))
