"""Dynamic rounding: replaces an instruction's dynamic rounding mode by its warp's."""

from typing import Any

from amaranth import *
from amaranth.lib import data

from ...arith.float.rounding import DYNAMIC, Rounding
from ...isa.operations import ControlOperation
from ..front_end_layouts import refusal

__all__ = ["with_rounding"]

RESERVED = len(Rounding)


def with_rounding(m: Module, head: data.View, frm: Value, name: str) -> data.View:
    """Return `head` with its warp's mode instead of `DYNAMIC`; a reserved mode becomes illegal.

    Combinational.

    Parameters
    ----------
    m : Module
        Module of the core.
    head : View of head_layout(config)
        Next instruction of a warp.
    frm : Value
        Rounding mode of the warp, stable once an instruction that uses it can issue.
    name : str
        Name of the result.
    """
    rounded: Any = Signal(head.shape(), name=name)
    m.d.comb += rounded.eq(head)
    with m.If(head.instruction.rounding == DYNAMIC):
        m.d.comb += rounded.instruction.rounding.eq(frm)
        with m.If(frm >= RESERVED):
            m.d.comb += refusal(rounded.instruction, ControlOperation.ILLEGAL)
    return rounded
