"""Whole warp: refuses a tensor instruction of a warp with inactive threads."""

from typing import Any

from amaranth import *
from amaranth.lib import data

from ...config import PipelineConfig
from ...isa.operations import ControlOperation, Port
from ..front_end_layouts import refusal
from ..layouts import group_fields, product_field

__all__ = ["of_whole_warp"]


def of_whole_warp(
    m: Module, config: PipelineConfig, head: data.View, mask: Value, name: str
) -> data.View:
    """Return `head`; a tensor instruction with inactive threads becomes `PARTIAL`.

    Its operands are those of all threads, also of inactive ones, whose registers nothing has
    written. Combinational.

    Parameters
    ----------
    m : Module
        Module of the core.
    config : PipelineConfig
        Config with tensor instructions.
    head : View of head_layout(config)
        Next instruction of a warp.
    mask : Value
        Active threads of the warp, stable once an instruction can issue.
    name : str
        Name of the result.
    """
    checked: Any = Signal(head.shape(), name=name)
    given, instruction = head.instruction, checked.instruction
    is_control = given.port == Port.CONTROL
    waits = is_control & (given.operation == ControlOperation.HGMMA_WAIT)
    m.d.comb += checked.eq(head)
    with m.If(((given.port == Port.TENSOR) | waits) & ~mask.all()):
        m.d.comb += [
            *refusal(instruction, ControlOperation.PARTIAL),
            *(instruction[name].eq(0) for name in product_field(config)),
            *(instruction[name].eq(0) for name in group_fields(config)),
        ]
    return checked
