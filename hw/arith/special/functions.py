"""Definition of the special functions as data: tables, their segments and fixed-point widths.

A function is a quadratic in each segment of its argument, ``c0 + c1 * x + c2 * x**2``, where `x`,
from 0 to below 1, is the position in the segment. Every table approximates values from 1/2 to 1,
so one set of widths serves them all. A word with a width of n below is an integer in units of
``2**-n``.
"""

from dataclasses import dataclass

__all__ = [
    "ARGUMENT_WIDTH",
    "C0_WIDTH",
    "C1_BITS",
    "C1_DIGITS",
    "C1_WIDTH",
    "C2_BITS",
    "C2_DIGITS",
    "C2_WIDTH",
    "FACTOR_DIGITS",
    "FACTOR_WIDTH",
    "LEAST_INDEX_WIDTH",
    "LOG2_UPPER",
    "LOG2_UPPER_WIDTH",
    "OFFSET_WIDTH",
    "PRODUCT_BIAS",
    "PRODUCT_WIDTH",
    "SIGNIFICAND_DIGITS",
    "SQUARED_WIDTH",
    "SQUARE_WIDTH",
    "SUM_WIDTH",
    "TABLES",
    "TINY_ANGLE",
    "TURN_WIDTH",
    "VALUE_WIDTH",
    "WINDOW_WIDTH",
    "Piece",
    "Table",
]


@dataclass(frozen=True)
class Piece:
    """Segments of equal length: numbers `first` to `last` of ``2**index_width`` from 0 to 1."""

    first: int
    last: int
    index_width: int

    @property
    def end(self) -> int:
        """End of the piece, as an argument."""
        return (self.last + 1) << (ARGUMENT_WIDTH - self.index_width)


@dataclass(frozen=True)
class Table:
    """A function's segments in ascending order.

    Parameters
    ----------
    pieces : tuple of Piece
    centred : bool
        Whether an argument represents all values up to the next argument, so that adding half a
        unit is the best estimate; if not, it is exact.

    """

    pieces: tuple[Piece, ...]
    centred: bool = False

    @property
    def segments(self) -> int:
        """Number of segments."""
        return sum(piece.last - piece.first + 1 for piece in self.pieces)


#: Bits of the argument of a table.
ARGUMENT_WIDTH = 25

#: Functions of the tables, with v the argument:
#: rcp             1 / (1 + v)
#: rsqrt           1 / sqrt(1 + v)
#: rsqrt_odd       1 / sqrt(2 + 2v), for odd exponents
#: exp2            2**v / 2
#: log2            log2(1 + v) / 2v
#: log2_upper      -log2(1 - v) / 2v, for significands from `LOG2_UPPER`
#: sin             sin(pi/4 * v) / v
#: cos             cos(pi/4 * v)
TABLES = {
    "rcp": Table((Piece(0, 127, 7),)),
    "rsqrt": Table((Piece(0, 31, 7), Piece(16, 63, 6))),
    "rsqrt_odd": Table((Piece(0, 31, 7), Piece(16, 63, 6))),
    "exp2": Table((Piece(0, 63, 6),), centred=True),
    "log2": Table((Piece(0, 51, 7),)),
    "log2_upper": Table((Piece(0, 38, 7),)),
    "sin": Table((Piece(0, 15, 5), Piece(32, 63, 6)), centred=True),
    "cos": Table((Piece(0, 63, 6),), centred=True),
}

#: Fraction, in units of ``2**-LOG2_UPPER_WIDTH``, from which on log2 halves the significand: just
#: below the root of 2, so that only logarithms near 1 are small.
LOG2_UPPER = 13
LOG2_UPPER_WIDTH = 5

#: Below 2 to this power, sin(x) is x and cos(x) is 1.
TINY_ANGLE = -12

#: Bits of the shortest index, and of the remaining position.
LEAST_INDEX_WIDTH = 5
OFFSET_WIDTH = ARGUMENT_WIDTH - LEAST_INDEX_WIDTH

C0_WIDTH = 27
C1_WIDTH = 24
C2_WIDTH = 25
#: Bits of the signed coefficients, and their radix-4 digits.
C1_BITS = 19
C2_BITS = 13
C1_DIGITS = (C1_BITS + 1) // 2
C2_DIGITS = (C2_BITS + 1) // 2

#: Upper bits of the position that are squared, and bits of the square.
SQUARED_WIDTH = 14
SQUARE_WIDTH = 18

#: Bits of the quadratic's sum, and bits kept of its value.
SUM_WIDTH = 31
VALUE_WIDTH = 28

#: Bits of the factor, from 1 to below 2, that multiplies the value, and of the product.
FACTOR_WIDTH = 26
FACTOR_DIGITS = 14
PRODUCT_WIDTH = 31
#: Average loss by dropped bits: half a unit for each digit of the factor.
PRODUCT_BIAS = FACTOR_DIGITS // 2

#: Digits of a significand; bits of an angle in turns; relevant bits of 1 / (2 pi).
SIGNIFICAND_DIGITS = 13
TURN_WIDTH = 33
WINDOW_WIDTH = TURN_WIDTH + 24
