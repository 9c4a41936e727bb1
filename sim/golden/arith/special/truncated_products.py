"""Truncated products of the special functions: definition of the dropped bits."""

import numpy as np

from .....hw.arith.special import functions as special

__all__ = ["interpolate", "square", "truncated_product"]

#: Magnitude of each Booth digit by three bits of a factor, the first shared with the lower digit.
DIGIT_MAGNITUDE = np.array([0, 1, 1, 2, 2, 1, 1, 0])


def truncated_product(x, y, *, digits: int, dropped: int, carry=0, negative=0) -> np.ndarray:
    """Return about ``x * (y + carry) / 2**dropped``, negated if `negative` is 1.

    `y` is recoded to `digits` radix-4 digits from -2 to 2 (Booth's); `carry` is the bit below it.
    Each digit's multiple of `x` loses the bits below the result's unit. Multiples by negative
    digits are complemented rather than negated.
    """
    total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), np.int64)
    doubled = np.asarray(y, np.int64) << 1 | carry
    for digit in range(digits):
        bits = (doubled >> 2 * digit) & 7
        multiple = DIGIT_MAGNITUDE[bits]
        multiple *= x
        places = 2 * digit - dropped
        if places >= 0:
            multiple <<= places
        else:
            multiple >>= -places
        bits >>= 2
        bits ^= negative
        multiple ^= -bits
        total += multiple
    return total


def square(x: np.ndarray) -> np.ndarray:
    """Return about ``x**2`` of the upper bits of a position in a segment.

    Each bit is multiplied by itself once and by each higher bit twice; each row of these products
    loses the bits below the result's unit.
    """
    x = x >> (special.OFFSET_WIDTH - special.SQUARED_WIDTH)
    dropped = 2 * special.SQUARED_WIDTH - special.SQUARE_WIDTH
    total = np.zeros_like(x)
    for bit in range(special.SQUARED_WIDTH):
        row = (1 + (x >> (bit + 1) << 2)) << 2 * bit
        total += np.where(x >> bit & 1, row >> dropped, 0)
    return total


def interpolate(c0, c1, c2, x) -> np.ndarray:
    """Return ``c0 + c1 * x + c2 * x**2`` in units of ``2**-VALUE_WIDTH``, rounded down."""
    linear = truncated_product(
        x,
        c1,
        digits=special.C1_DIGITS,
        dropped=special.C1_WIDTH + special.OFFSET_WIDTH - special.SUM_WIDTH,
    )
    quadratic = truncated_product(
        square(x),
        c2,
        digits=special.C2_DIGITS,
        dropped=special.C2_WIDTH + special.SQUARE_WIDTH - special.SUM_WIDTH,
    )
    total = (c0 << (special.SUM_WIDTH - special.C0_WIDTH)) + linear + quadratic
    return total >> (special.SUM_WIDTH - special.VALUE_WIDTH)
