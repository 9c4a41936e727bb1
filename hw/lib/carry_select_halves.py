"""Carry-select adder, for addresses whose carry chain would be too deep."""

from amaranth import *

__all__ = ["carry_select"]


def carry_select(a, b, width: int):
    """Return ``(a + b) mod 2**width`` with half the depth of a plain adder.

    The upper half is computed with and without a carry in, in parallel with the lower half.
    Operands are unsigned. A narrower operand is zero-extended to `width`.
    """
    low = width // 2
    a, b = Value.cast(a), Value.cast(b)
    lower = a[:low] + b[:low]
    upper = a[low:width] + b[low:width]
    return Cat(lower[:low], Mux(lower[low], upper + 1, upper)[: width - low])
