"""Dynamic rounding: replaces an instruction's dynamic rounding mode by its warp's."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...arith.float.rounding import DYNAMIC, Rounding
from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import ControlOperation
from ..front_end_layouts import head_layout, refusal

__all__ = ["DynamicRounding"]

RESERVED = len(Rounding)


class DynamicRounding(Component):
    """Dynamic rounding: replaces `DYNAMIC` by the warp's mode; a reserved mode becomes illegal.

    Combinational.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    head : In(head_layout(config))
    frm : In(3)
        Rounding mode of the warp, stable once an instruction that uses it can issue.
    o : Out(head_layout(config))
    """

    def __init__(self, config: PipelineConfig):
        layout = head_layout(config)
        super().__init__({"head": In(layout), "frm": In(3), "o": Out(layout)})

    def elaborate(self, platform):
        m = Module()
        instruction = self.o.instruction
        is_dynamic = Signal()
        m.d.comb += [
            is_dynamic.eq(self.head.instruction.rounding == DYNAMIC),
            self.o.eq(self.head),
        ]
        with m.If(is_dynamic):
            m.d.comb += instruction.rounding.eq(self.frm)
            with m.If(self.frm >= RESERVED):
                m.d.comb += refusal(instruction, ControlOperation.ILLEGAL)
        return m
