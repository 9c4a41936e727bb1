"""Golden model of the tensor instructions: register layout of matrices, and numerics.

A matrix of a warp is spread over the lanes of several float registers. Arrays of registers have one
row per register and one column per lane. All arrays may be stacked. All numbers are stored bits.
``hmma`` in warps of 32 threads has the layout of ``mma.sync.m16n8k16``.
"""

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.config.formats import FORMATS
from .....hw.config.tensor import HgmmaConfig, TensorConfig, TensorNumerics
from ...arith.dot_product.dot_product import dot_product

__all__ = [
    "ACCUMULATORS",
    "HGMMA_SHAPE",
    "HMMA_SHAPE",
    "THREADS",
    "hgmma",
    "hgmma_operands",
    "hmma",
    "matrix_product",
    "pack_a",
    "pack_b",
    "pack_c",
    "pack_tile",
    "stored_matrix",
    "unpack_a",
    "unpack_b",
    "unpack_c",
    "unpack_tile",
]

THREADS = 8
#: Rows, columns and depth of one instruction, of ``hmma`` with FP16.
HMMA_SHAPE = (8, 8, 16)
#: Those of ``hgmma`` with FP16.
HGMMA_SHAPE = (16, 16, 32)
#: The first registers of the two accumulators of hmma.
ACCUMULATORS = (16, 24)
#: Rows and columns of the blocks that share an accumulator's layout, and registers of one.
BLOCK = 8
#: Default of ``hmma``, and of ``hgmma``: FP16, rounded as in Virgo.
VIRGO = TensorConfig()
VIRGO_TILE = HgmmaConfig()
#: Its dot product added to the accumulator in one step.
DOT = DotProductConfig.of(VIRGO)

#: Row and column, in blocks, of each accumulator register's numbers in lane 0, and of each lane's
#: numbers in register 0.
REGISTER_PLACES = [(0, 0), (0, 1), (2, 0), (2, 1), (0, 4), (0, 5), (2, 4), (2, 5)]
LANE_PLACES = [(0, 0), (1, 0), (0, 2), (1, 2), (4, 0), (5, 0), (4, 2), (5, 2)]


def numbers_of(registers, config: TensorConfig) -> np.ndarray:
    """Return the numbers of registers by register, number in it and lane.

    They ascend from the lowest bits on. TF32 is the upper bits of a register.
    """
    registers = np.asarray(registers, np.uint32)
    width = FORMATS[config.operand].width
    places = range(config.operand_width - width, 32, config.operand_width)
    mask = np.uint32((1 << width) - 1)
    return np.stack([registers >> place & mask for place in places], axis=-2)


def stored(numbers, config: TensorConfig) -> np.ndarray:
    """Return the registers with these numbers; the inverse of `numbers_of`."""
    numbers = np.asarray(numbers, np.uint32)
    places = range(config.operand_width - FORMATS[config.operand].width, 32, config.operand_width)
    shifted = [numbers[..., k, :] << np.uint32(place) for k, place in enumerate(places)]
    return np.bitwise_or.reduce(shifted)


def wide_places(config: TensorConfig, is_a: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return row or column, and k, of A or B in warps of 32 threads.

    By register, number in it, and lane 4 g + t. A register of A or B has p numbers.
    """
    p = 32 // config.operand_width
    count = config.registers if is_a else config.b_registers
    register, number, lane = np.meshgrid(range(count), range(p), range(32), indexing="ij")
    g, t = lane // 4, lane % 4
    if is_a:
        return g + 8 * (register % 2), p * t + number + 4 * p * (register // 2)
    return g, p * t + number + 4 * p * register


def unpack_a(registers, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return A from its registers, f0 and so on.

    In warps of 8 threads a lane holds a row, k ascending.
    """
    numbers = numbers_of(registers, config)
    if config.threads == THREADS:
        shape = (*numbers.shape[:-3], -1, THREADS)
        return np.swapaxes(numbers.reshape(shape), -1, -2)
    return placed(numbers, wide_places(config, is_a=True), (config.rows, config.depth))


def placed(numbers: np.ndarray, places, shape: tuple[int, int]) -> np.ndarray:
    """Return a matrix with these numbers at their places."""
    matrix = np.zeros((*numbers.shape[: numbers.ndim - places[0].ndim], *shape), np.uint32)
    matrix[..., places[0], places[1]] = numbers
    return matrix


def unpack_b(registers, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return B from its registers, f8 and so on; a lane holds a column as it does a row of A."""
    if config.threads == THREADS:
        return np.swapaxes(unpack_a(registers, config), -1, -2)
    numbers = numbers_of(registers, config)
    columns = placed(numbers, wide_places(config, is_a=False), (BLOCK, config.depth))
    return np.swapaxes(columns, -1, -2)


def pack_a(a, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return the registers that hold A."""
    a = np.asarray(a, np.uint32)
    if config.threads == THREADS:
        a = np.swapaxes(a, -1, -2)
        return stored(a.reshape(*a.shape[:-2], -1, 32 // config.operand_width, THREADS), config)
    row, k = wide_places(config, is_a=True)
    return stored(a[..., row, k], config)


def pack_b(b, config: TensorConfig = VIRGO) -> np.ndarray:
    """Return the registers that hold B."""
    columns = np.swapaxes(np.asarray(b, np.uint32), -1, -2)
    if config.threads == THREADS:
        return pack_a(columns, config)
    column, k = wide_places(config, is_a=False)
    return stored(columns[..., column, k], config)


def narrow_c() -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of an accumulator in warps of 8 threads by register and lane."""
    row, column = (
        np.array([[one[k] + other[k] for other in LANE_PLACES] for one in REGISTER_PLACES])
        for k in range(2)
    )
    return row, column


def wide_c() -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of an accumulator in warps of 32 threads by register and lane."""
    register, lane = np.meshgrid(range(4), range(32), indexing="ij")
    return lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2


def unpack_c(registers) -> np.ndarray:
    """Return an accumulator of ``hmma`` from eight registers of eight lanes, or four of 32."""
    registers = np.asarray(registers, np.uint32)
    is_wide = registers.shape[-1] != THREADS
    shape = (2 * BLOCK, BLOCK) if is_wide else (BLOCK, BLOCK)
    return placed(registers, wide_c() if is_wide else narrow_c(), shape)


def pack_c(c) -> np.ndarray:
    """Return the registers that hold an accumulator of ``hmma``, of 8 x 8 or 16 x 8 numbers."""
    c = np.asarray(c, np.uint32)
    row, column = wide_c() if c.shape[-1] != c.shape[-2] else narrow_c()
    return c[..., row, column]


def tile_places() -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of an accumulator of ``hgmma`` by register and lane.

    Registers 2 r and 2 r + 1 hold row r; lane l has its columns 2 l and 2 l + 1.
    """
    register, lane = np.meshgrid(range(32), range(THREADS), indexing="ij")
    return register // 2, 2 * lane + register % 2


def unpack_tile(registers) -> np.ndarray:
    """Return an accumulator of ``hgmma``, 16 x 16 numbers, from 32 registers of eight lanes."""
    return placed(np.asarray(registers, np.uint32), tile_places(), (16, 16))


def pack_tile(c) -> np.ndarray:
    """Return the registers that hold an accumulator of ``hgmma``."""
    row, column = tile_places()
    return np.asarray(c, np.uint32)[..., row, column]


def stored_matrix(matrix, config: HgmmaConfig = VIRGO_TILE) -> np.ndarray:
    """Return the bytes of a factor of ``hgmma``, row by row; `operand_places` has their places."""
    matrix = np.asarray(matrix, np.uint32)
    width = config.operand_width
    containers = matrix << np.uint32(width - FORMATS[config.operand].width)
    dense = np.ascontiguousarray(containers, f"<u{width // 8}")
    return dense.view(np.uint8).reshape(*matrix.shape[:-2], -1)


def hgmma_operands(a, b, config: HgmmaConfig = VIRGO_TILE) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B from their bytes, row by row."""
    form, width = FORMATS[config.operand], config.operand_width
    numbers = (
        np.asarray(x, np.uint8).view(f"<u{width // 8}").astype(np.uint32)
        >> np.uint32(width - form.width)
        for x in (a, b)
    )
    shapes = (config.side, config.depth), (config.depth, config.side)
    left, right = (
        each.reshape(*each.shape[:-1], *shape) for each, shape in zip(numbers, shapes, strict=True)
    )
    return left, right


def matrix_product(a, b, c, config: TensorNumerics = VIRGO) -> np.ndarray:
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

    The accumulator begins at register `accumulators`, A at f0 and B at f8.
    """
    registers = np.array(registers, np.uint32)
    chosen = registers[..., accumulators : accumulators + config.registers, :]
    a = unpack_a(registers[..., : config.registers, :], config)
    b = unpack_b(registers[..., 8 : 8 + config.b_registers, :], config)
    chosen[...] = pack_c(matrix_product(a, b, unpack_c(chosen), config))
    return registers


def hgmma(a, b, registers, config: HgmmaConfig = VIRGO_TILE) -> np.ndarray:
    """Return the 32 float registers of a warp, an accumulator of 16 x 16, after ``hgmma``.

    `a` has 16 rows and `b` 16 columns, in stored numbers.
    """
    return pack_tile(matrix_product(a, b, unpack_tile(registers), config))
