"""Instruction buffer of one warp: decoded instructions that wait for issue."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.memory_map import ENTRY
from ...lib.interfaces.core_memory import pairs
from ..front_end_layouts import entry_layout, head_layout, position_width

__all__ = ["WarpBuffer"]


def by_bits(index: Value, values) -> Value:
    """Return the entry of `values`, a power of two of them, at `index`."""
    values = [Value.cast(value) for value in values]
    for bit in range(len(index)):
        values = [Mux(index[bit], b, a) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


class WarpBuffer(SharedBlock):
    """Instruction buffer of one warp.

    The address of an instruction determines its slot, so pairs may arrive in any order. A push is
    visible in the next cycle. After reset the warp starts at `ENTRY`.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    push : In(1)
        Pushes a pair into a free slot.
    pair : In(ceil_log2(pairs(config)))
        Its slot: the lowest bits of its address in pairs.
    entries : In(ArrayLayout(entry_layout(config), 2))
    redirect : In(1)
        Drops everything, including a push in this cycle, and continues at `target`.
    target : In(30)
        Word address.
    active : In(1)
        An inactive warp has no valid head.
    take : In(1)
        The head is taken; only if it is valid.
    take_slot_1 : In(1)
        The instruction after it is taken too. Ignored if `config.issue_width` is 1.
    head : Out(head_layout(config))
    slot_1_head : Out(head_layout(config))
        The instruction after the head; present only if `config.issue_width` is 2.
    position : Out(position_width(config))
        Lowest bits of the head's word address, also if the head is not valid yet.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        slot_1_head = {"slot_1_head": Out(head_layout(config))} if config.issue_width == 2 else {}
        super().__init__(
            {
                "push": In(1),
                "pair": In(ceil_log2(pairs(config))),
                "entries": In(data.ArrayLayout(entry_layout(config), 2)),
                "redirect": In(1),
                "target": In(30),
                "active": In(1),
                "take": In(1),
                "take_slot_1": In(1),
                "head": Out(head_layout(config)),
                "position": Out(position_width(config)),
            }
            | slot_1_head
        )

    def build(self, platform):
        m = Module()
        config = self.config
        count = pairs(config)
        at_head = Signal(ceil_log2(count))
        pc = Signal(30, init=ENTRY >> 2)
        after = Signal(30)
        is_odd = pc[0]
        held = Signal(count)  # slots with a pair
        places = [
            Signal(entry_layout(config), name=f"entry_{n}", reset_less=True)
            for n in range(2 * count)
        ]
        pushed = Cat(self.push & (self.pair == n) for n in range(count))
        for n in range(count):
            with m.If(pushed[n]):
                m.d.sync += [places[2 * n + k].eq(self.entries[k]) for k in range(2)]

        takes_slot_1 = self.take_slot_1 if config.issue_width == 2 else Const(0)
        # The pair at the head is freed when its second word is taken.
        done = Cat(self.take & (is_odd | takes_slot_1) & (at_head == n) for n in range(count))
        m.d.comb += [
            at_head.eq(pc[1:]),
            after.eq(pc + 1),
            self.position.eq(pc),
        ]
        with m.If(self.take):
            m.d.sync += pc.eq(Mux(takes_slot_1, pc + 2, after))
        m.d.sync += held.eq((held | pushed) & ~done)
        with m.If(self.redirect):
            m.d.sync += [pc.eq(self.target), held.eq(0)]

        even, odd = by_bits(at_head, places[::2]), by_bits(at_head, places[1::2])
        valid = Signal()
        m.d.comb += [
            valid.eq(by_bits(at_head, list(held)) & self.active),
            self.head.valid.eq(valid),
        ]
        self.show(m, self.head, Mux(is_odd, odd, even), pc)
        if config.issue_width == 2:
            # The even word of the next pair follows the odd word of a pair.
            turn = [(n + 1) % count for n in range(count)]
            next_even = by_bits(at_head, [places[2 * n] for n in turn])
            next_held = by_bits(at_head, [held[n] for n in turn]) if count > 1 else 0
            self.show(m, self.slot_1_head, Mux(is_odd, next_even, odd), after)
            m.d.comb += self.slot_1_head.valid.eq(valid & (~is_odd | next_held))
        return m

    def show(self, m: Module, head, entry: Value, pc: Value):
        """Drive `head` with an entry and its word address."""
        layout = entry_layout(self.config)
        fields = layout(entry)
        m.d.comb += head.instruction.pc.eq(Cat(Const(0, 2), pc))
        for name, _ in layout:
            m.d.comb += getattr(head.instruction, name).eq(getattr(fields, name))
