"""Signatures between the blocks of the floating-point lanes."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ....arith.float.rounding import FLAGS_LAYOUT, Rounding
from ....config.formats import FP32
from ....isa.operations import FloatOperation

__all__ = ["FloatOperandsSignature", "FloatResultsSignature", "conversion_layout"]


class FloatOperandsSignature(wiring.Signature):
    """Operation that is common to the lanes, with the operands of each.

    Members
    -------
    operation : Out(FloatOperation)
    rounding : Out(Rounding)
    a, b, c : Out(data.ArrayLayout(32, lanes))
    """

    def __init__(self, lanes: int):
        values = data.ArrayLayout(FP32.width, lanes)
        super().__init__({
            "operation": Out(FloatOperation),
            "rounding": Out(Rounding),
            **{name: Out(values) for name in ("a", "b", "c")},
        })


class FloatResultsSignature(wiring.Signature):
    """Result and flags of each lane.

    Members
    -------
    o : Out(data.ArrayLayout(32, lanes))
    flags : Out(data.ArrayLayout(FLAGS_LAYOUT, lanes))
    """

    def __init__(self, lanes: int):
        super().__init__({
            "o": Out(data.ArrayLayout(FP32.width, lanes)),
            "flags": Out(data.ArrayLayout(FLAGS_LAYOUT, lanes)),
        })


def conversion_layout(lanes: int) -> data.StructLayout:
    """Return the layout of a conversion before the multiply-add, for the cast after it.

    ``is_from`` an integer, ``is_to`` an integer, a signed one. ``has_fraction`` marks the lanes
    with an operand of a smaller exponent than 2**23.
    """
    return data.StructLayout({"has_fraction": lanes, "is_from": 1, "is_to": 1, "is_signed": 1})
