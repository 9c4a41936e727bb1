"""Golden model of the tensor instructions: register layout of matrices, and numerics.

A matrix of a warp of eight threads is spread over the lanes of several float registers. Arrays of
registers have one row per register and one column per lane. All arrays may be stacked. All numbers
are stored bits.
"""

from math import isqrt

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.config.formats import FORMATS
from .....hw.config.tensor import TensorConfig
from ...arith.dot_product.dot_product import dot_product

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
#: Rows, columns and depth of one instruction, of ``hmma`` with FP16.
HMMA_SHAPE = (8, 8, 16)
HGMMA_SHAPE = (16, 16, 32)
#: The first registers of the two accumulators of hmma.
ACCUMULATORS = (16, 24)
#: Rows and columns of the blocks that share an accumulator's layout, and registers of one.
BLOCK = 8
#: Numerics of ``hgmma``, and of ``hmma`` by default: FP16, rounded as in Virgo.
VIRGO = TensorConfig()
#: Its dot product added to the accumulator in one step.
DOT = DotProductConfig.of(VIRGO)

#: Row and column, in blocks, of each accumulator register's numbers in lane 0, and of each lane's
#: numbers in register 0.
REGISTER_PLACES = [(0, 0), (0, 1), (2, 0), (2, 1), (0, 4), (0, 5), (2, 4), (2, 5)]
LANE_PLACES = [(0, 0), (1, 0), (0, 2), (1, 2), (4, 0), (5, 0), (4, 2), (5, 2)]


def unpack_a(registers, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return A from registers f0 to f7: one row per lane, k ascending from the lowest bits on.

    TF32 is the upper bits of a register.
    """
    registers = np.asarray(registers, np.uint32)
    width = FORMATS[config.operand].width
    places = range(config.operand_width - width, 32, config.operand_width)
    mask = np.uint32((1 << width) - 1)
    numbers = np.stack([registers >> place & mask for place in places], axis=-2)
    return np.swapaxes(numbers.reshape(*registers.shape[:-2], -1, THREADS), -1, -2)


def unpack_b(registers, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return B from registers f8 to f15: one column per lane, as rows of A."""
    return np.swapaxes(unpack_a(registers, config), -1, -2)


def pack_a(a, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return the registers that hold A."""
    a = np.swapaxes(np.asarray(a, np.uint32), -1, -2)
    width, each = FORMATS[config.operand].width, 32 // config.operand_width
    registers = np.zeros((*a.shape[:-2], a.shape[-2] // each, THREADS), np.uint32)
    for number in range(each):
        place = config.operand_width * (number + 1) - width
        registers |= a[..., number::each, :] << np.uint32(place)
    return registers


def pack_b(b, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return the registers that hold B."""
    return pack_a(np.swapaxes(b, -1, -2), config)


def places(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column by register and lane, for an accumulator of `side` x `side` blocks."""
    inside = (
        np.array([[one[k] + other[k] for other in LANE_PLACES] for one in REGISTER_PLACES])
        for k in range(2)
    )
    blocks = np.divmod(np.arange(side * side)[:, None, None], side)
    row, column = (
        (BLOCK * block + place).reshape(-1, THREADS)
        for block, place in zip(blocks, inside, strict=True)
    )
    return row, column


def unpack_c(registers) -> np.ndarray:
    """Return an accumulator: a block of eight registers, or two by two blocks of 32."""
    registers = np.asarray(registers, np.uint32)
    side = isqrt(registers.shape[-2] // BLOCK)
    row, column = places(side)
    c = np.zeros((*registers.shape[:-2], side * BLOCK, side * BLOCK), np.uint32)
    c[..., row, column] = registers
    return c


def pack_c(c) -> np.ndarray:
    """Return the registers that hold an accumulator of 8 x 8 or 16 x 16."""
    c = np.asarray(c, np.uint32)
    row, column = places(c.shape[-1] // BLOCK)
    return c[..., row, column]


def matrix_product(a, b, c, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return ``a @ b + c``: for each element a chain of dot products, k ascending."""
    a, b, total = np.asarray(a), np.asarray(b), np.asarray(c, np.uint32)
    dot = DotProductConfig.of(config)
    shape = (*total.shape, dot.terms)
    for k in range(0, a.shape[-1], dot.terms):
        left = a[..., :, None, k : k + dot.terms]
        right = np.swapaxes(b[..., k : k + dot.terms, :], -1, -2)[..., None, :, :]
        rows, columns = (np.broadcast_to(x, shape).reshape(-1, dot.terms) for x in (left, right))
        total = dot_product(dot, rows, columns, total.ravel()).reshape(total.shape)
    return total


def hmma(
    registers, accumulators: int = ACCUMULATORS[0], config: TensorConfig = VIRGO
) -> np.ndarray:
    """Return the 32 float registers of a warp after ``hmma``.

    The accumulator begins at register `accumulators`. A is in f0 to f7, B in f8 to f15.
    """
    registers = np.array(registers, np.uint32)
    chosen = registers[..., accumulators : accumulators + BLOCK, :]
    a = unpack_a(registers[..., 0:8, :], config)
    b = unpack_b(registers[..., 8:16, :], config)
    chosen[...] = pack_c(matrix_product(a, b, unpack_c(chosen), config))
    return registers


def hgmma(a, b, registers) -> np.ndarray:
    """Return the 32 float registers of a warp, an accumulator of 16 x 16, after ``hgmma``.

    `a` is 16 x 32 and `b` 32 x 16, in stored FP16, row by row as in shared memory.
    """
    return pack_c(matrix_product(a, b, unpack_c(registers)))
