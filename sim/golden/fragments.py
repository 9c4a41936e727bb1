"""Golden model of the tensor instructions: where matrices lie in registers, and what is computed.

A matrix of a warp of eight threads is spread over the lanes of several float registers. Arrays of
registers have a row per register and a column per lane; all numbers are stored bits.
"""

import numpy as np

from ...hw.tensor.config import DotProductConfig
from .tree import tree_dot_product

__all__ = [
    "ACCUMULATORS",
    "HGMMA_SHAPE",
    "HMMA_SHAPE",
    "THREADS",
    "hgmma",
    "hmma",
    "matrix_product",
    "pack_a",
    "pack_b",
    "pack_c",
    "unpack_a",
    "unpack_b",
    "unpack_c",
]

THREADS = 8
#: Rows, columns and depth of one instruction.
HMMA_SHAPE = (8, 8, 16)
HGMMA_SHAPE = (16, 16, 32)
#: The first registers of the two accumulators of hmma.
ACCUMULATORS = (16, 24)
#: Rows and columns of the blocks that share an accumulator's layout, and registers of one.
BLOCK = 8
#: What a dot product adds to its accumulator at a time.
DOT = DotProductConfig(terms=4, numerics="virgo_hmma")

#: Row and column, in units of a block, of the numbers that each register of an accumulator holds
#: in lane 0, and of those that a lane holds in register 0.
REGISTER_PLACES = [(0, 0), (0, 1), (2, 0), (2, 1), (0, 4), (0, 5), (2, 4), (2, 5)]
LANE_PLACES = [(0, 0), (1, 0), (0, 2), (1, 2), (4, 0), (5, 0), (4, 2), (5, 2)]


def unpack_a(registers) -> np.ndarray:
    """Return A, 8 x 16, of registers f0 to f7: a lane has a row, two numbers to a register."""
    registers = np.asarray(registers, np.uint32)
    halves = np.stack([registers & 0xFFFF, registers >> 16], axis=1)
    return halves.reshape(-1, THREADS).T.astype(np.uint16)


def unpack_b(registers) -> np.ndarray:
    """Return B, 16 x 8, of registers f8 to f15: a lane has a column, two numbers to a register."""
    return unpack_a(registers).T


def pack_a(a) -> np.ndarray:
    """Return the registers that hold A."""
    a = np.asarray(a, np.uint32)
    return (a[:, 0::2] | a[:, 1::2] << 16).T


def pack_b(b) -> np.ndarray:
    """Return the registers that hold B."""
    return pack_a(np.asarray(b).T)


def places() -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column in a block, by register and lane."""
    row, column = (
        np.array([[one[k] + other[k] for other in LANE_PLACES] for one in REGISTER_PLACES])
        for k in range(2)
    )
    return row, column


def unpack_c(registers) -> np.ndarray:
    """Return an accumulator: a block of eight registers, or two by two blocks of 32."""
    registers = np.asarray(registers, np.uint32)
    side = int(np.sqrt(len(registers) // BLOCK))
    c = np.zeros((side * BLOCK, side * BLOCK), np.uint32)
    for block, part in enumerate(registers.reshape(-1, BLOCK, THREADS)):
        block_row, block_column = divmod(block, side)
        row, column = places()
        c[BLOCK * block_row + row, BLOCK * block_column + column] = part
    return c


def pack_c(c) -> np.ndarray:
    """Return the registers that hold an accumulator of 8 x 8 or 16 x 16."""
    c = np.asarray(c, np.uint32)
    row, column = places()
    blocks = [
        c[top + row, left + column]
        for top in range(0, len(c), BLOCK)
        for left in range(0, len(c), BLOCK)
    ]
    return np.concatenate(blocks)


def matrix_product(a, b, c) -> np.ndarray:
    """Return ``a @ b + c``: of each element dot products of four, k ascending."""
    a, b, total = np.asarray(a), np.asarray(b), np.asarray(c, np.uint32)
    rows, columns = total.shape
    for k in range(0, a.shape[1], DOT.terms):
        left = np.repeat(a[:, k : k + DOT.terms], columns, axis=0)
        right = np.tile(b[k : k + DOT.terms].T, (rows, 1))
        total = tree_dot_product(DOT, left, right, total.ravel()).reshape(rows, columns)
    return total


def hmma(registers, accumulators: int = ACCUMULATORS[0]) -> np.ndarray:
    """Return the 32 float registers of a warp after ``hmma`` on the accumulator that begins there.

    A is in f0 to f7, B in f8 to f15.
    """
    registers = np.array(registers, np.uint32)
    chosen = slice(accumulators, accumulators + BLOCK)
    c = matrix_product(
        unpack_a(registers[0:8]), unpack_b(registers[8:16]), unpack_c(registers[chosen])
    )
    registers[chosen] = pack_c(c)
    return registers


def hgmma(a, b, registers) -> np.ndarray:
    """Return the 32 float registers of a warp, an accumulator of 16 x 16, after ``hgmma``.

    `a` is 16 x 32 and `b` 32 x 16, of stored FP16, as they lie in shared memory row by row.
    """
    return pack_c(matrix_product(a, b, unpack_c(registers)))
