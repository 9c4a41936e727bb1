"""Whole warp: refuses a tensor instruction of a warp with inactive threads."""

from amaranth import *
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import ControlOperation, Port
from ..front_end_layouts import head_layout, refusal
from ..layouts import group_fields, product_field

__all__ = ["WholeWarp"]


class WholeWarp(Component):
    """Whole warp: a tensor instruction with inactive threads becomes `ControlOperation.PARTIAL`.

    Its operands are those of all threads, also of inactive ones, whose registers nothing has
    written. Combinational.

    Parameters
    ----------
    config : PipelineConfig
        Config with tensor instructions.

    Members
    -------
    head : In(head_layout(config))
    mask : In(threads)
        Active threads of the warp, stable once an instruction can issue.
    o : Out(head_layout(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        layout = head_layout(config)
        super().__init__({"head": In(layout), "mask": In(config.threads), "o": Out(layout)})

    def elaborate(self, platform):
        m = Module()
        given, instruction = self.head.instruction, self.o.instruction
        is_control = given.port == Port.CONTROL
        waits = is_control & (given.operation == ControlOperation.HGMMA_WAIT)
        m.d.comb += self.o.eq(self.head)
        with m.If(((given.port == Port.TENSOR) | waits) & ~self.mask.all()):
            m.d.comb += [
                *refusal(instruction, ControlOperation.PARTIAL),
                *(instruction[name].eq(0) for name in product_field(self.config)),
                *(instruction[name].eq(0) for name in group_fields(self.config)),
            ]
        return m
