"""Integer division: operand setup and result selection around the digit recurrence.

Restoring division covers RISC-V's corner cases without extra logic. Division by zero gives all
ones and the dividend as remainder. The least number divided by -1 gives its own magnitude, which
is not negated.
"""

from amaranth import *
from amaranth.lib import data

__all__ = ["START_LAYOUT", "integer_result", "integer_start", "is_integer"]

#: Properties of an integer result that are known before its digits.
START_LAYOUT = data.StructLayout({"is_remainder": 1, "is_negative": 1})


def is_integer(operation: Value) -> Value:
    """Return 1 if `operation` is an integer operation."""
    return ~Value.cast(operation)[2]


def integer_start(m: Module, operation: Value, a: Value, b: Value):
    """Return the magnitudes of `a` and `b`, and the `START_LAYOUT` of the result."""
    operation = Value.cast(operation)
    is_signed = ~operation[0]
    start = Signal(START_LAYOUT, name="integer_start")
    a_sign, b_sign = Signal(), Signal()
    a_magnitude, b_magnitude = Signal(len(a)), Signal(len(b))
    m.d.comb += [
        a_sign.eq(a[-1] & is_signed),
        b_sign.eq(b[-1] & is_signed),
        a_magnitude.eq(magnitude(a, a_sign)),
        b_magnitude.eq(magnitude(b, b_sign)),
        start.is_remainder.eq(operation[1]),
        # The quotient by zero is -1 or the largest number: all ones, regardless of the signs.
        start.is_negative.eq(Mux(operation[1], a_sign, (a_sign ^ b_sign) & b.any())),
    ]
    return a_magnitude, b_magnitude, start


def integer_result(start: data.View, remainder: Value, quotient: Value) -> Value:
    """Return the result as stored."""
    return magnitude(Mux(start.is_remainder, remainder, quotient), start.is_negative)


def magnitude(value: Value, is_negative: Value) -> Value:
    """Return `value`, negated if `is_negative`."""
    return ((value ^ is_negative.replicate(len(value))) + is_negative)[: len(value)]
