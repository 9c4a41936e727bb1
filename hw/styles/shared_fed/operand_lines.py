"""Lines of an operand in shared memory: their places, and the order of numbers within them."""

from amaranth import *
from amaranth.utils import exact_log2

from .config import READ_BYTES, SWIZZLE_ROW_BYTES, SWIZZLE_UNIT_BYTES, SharedFedConfig

__all__ = ["column_bits", "exchanged", "is_split", "line_offset", "permuted", "row_parity"]

#: Lines of a row with layout ``swizzle128``, and bits of their numbers within it.
ROW_LINES = SWIZZLE_ROW_BYTES // READ_BYTES
COLUMN_BITS = exact_log2(ROW_LINES)
#: Units of a line, bits of their numbers, and of those within a row.
LINE_UNITS = READ_BYTES // SWIZZLE_UNIT_BYTES
LOW_BITS = exact_log2(LINE_UNITS)
UNIT_BITS = exact_log2(SWIZZLE_ROW_BYTES // SWIZZLE_UNIT_BYTES)


def column_bits(row_bytes: int) -> int:
    """Return the bits of a line's number within a row of an operand."""
    return exact_log2(max(1, row_bytes // READ_BYTES))


def line_offset(config: SharedFedConfig, line: Value, row_bytes: int) -> Value:
    """Return the number of a line counted from the first one of its operand, before `permuted`.

    `line` counts the lines of the operand in the order of rows.
    """
    if not config.is_swizzled:
        return line
    column = column_bits(row_bytes)
    return Cat(line[:column], C(0, COLUMN_BITS - column), line[column:])


def permuted(config: SharedFedConfig, line: Value) -> Value:
    """Return the number of the line in shared memory in which another one is stored."""
    if not config.is_swizzled:
        return line
    row = line[COLUMN_BITS + LOW_BITS : COLUMN_BITS + UNIT_BITS]
    return Cat(line[:COLUMN_BITS] ^ row, line[COLUMN_BITS:])


def row_parity(line: Value) -> Value:
    """Return the lowest bit of the row of 128 bytes that a line of shared memory is in."""
    return line[COLUMN_BITS]


def exchanged(line: Value, is_odd: Value) -> Value:
    """Return the contents of a line; in a row with an odd number, its halves are exchanged."""
    half = len(line) // LINE_UNITS
    return Mux(is_odd, Cat(line[half:], line[:half]), line)


def is_split(config: SharedFedConfig, address: Value, row_bytes: int) -> Value:
    """Return whether rows that begin at this address, a multiple of a line, cross a row's end."""
    if not config.is_swizzled:
        return C(0)
    last = (SWIZZLE_ROW_BYTES - row_bytes) // READ_BYTES
    low = exact_log2(READ_BYTES)
    return address[low : low + COLUMN_BITS] > last
