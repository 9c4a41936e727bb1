"""Addition in halves, for addresses that would be too deep as one chain of carries."""

from amaranth import *

__all__ = ["carry_select"]


def carry_select(a, b, width: int):
    """Return ``(a + b) mod 2**width`` with half the depth of a plain adder.

    The upper half is added with and without a carry while the lower half finds out which.
    Operands are unsigned; one narrower than `width` is extended with zeros.
    """
    low = width // 2
    a, b = Value.cast(a), Value.cast(b)
    lower = a[:low] + b[:low]
    upper = a[low:width] + b[low:width]
    return Cat(lower[:low], Mux(lower[low], upper + 1, upper)[: width - low])
