"""Golden model of ``hmma``: register layout of its matrices, and numerics.

A matrix of a warp is spread over the lanes of several float registers. Arrays of registers have one
row per register and one column per lane. All arrays may be stacked. All numbers are stored bits.
``hmma`` in warps of 32 threads has the layout of ``mma.sync.m16n8k16``.
"""

import numpy as np

from .....hw.config.formats import FORMATS
from .....hw.styles.register_fed.config import RegisterFedConfig
from ..tensor_product import THREADS, matrix_product, placed

__all__ = [
    "ACCUMULATORS",
    "HMMA_SHAPE",
    "THREADS",
    "hmma",
    "pack_a",
    "pack_b",
    "pack_c",
    "unpack_a",
    "unpack_b",
    "unpack_c",
]

#: Rows, columns and depth of one instruction with FP16.
HMMA_SHAPE = (8, 8, 16)
#: The first registers of the two accumulators of hmma.
ACCUMULATORS = (16, 24)
#: Rows and columns of the blocks that share an accumulator's layout, and registers of one.
BLOCK = 8
#: Default of ``hmma``: FP16, rounded as in Virgo.
VIRGO = RegisterFedConfig()

#: Row and column, in blocks, of each accumulator register's numbers in lane 0, and of each lane's
#: numbers in register 0.
REGISTER_PLACES = [(0, 0), (0, 1), (2, 0), (2, 1), (0, 4), (0, 5), (2, 4), (2, 5)]
LANE_PLACES = [(0, 0), (1, 0), (0, 2), (1, 2), (4, 0), (5, 0), (4, 2), (5, 2)]


def numbers_of(registers, config: RegisterFedConfig) -> np.ndarray:
    """Return the numbers of registers by register, number in it and lane.

    They ascend from the lowest bits on. TF32 is the upper bits of a register.
    """
    registers = np.asarray(registers, np.uint32)
    width = FORMATS[config.operand].width
    places = range(config.operand_width - width, 32, config.operand_width)
    mask = np.uint32((1 << width) - 1)
    return np.stack([registers >> place & mask for place in places], axis=-2)


def stored(numbers, config: RegisterFedConfig) -> np.ndarray:
    """Return the registers with these numbers; the inverse of `numbers_of`."""
    numbers = np.asarray(numbers, np.uint32)
    places = range(config.operand_width - FORMATS[config.operand].width, 32, config.operand_width)
    shifted = [numbers[..., k, :] << np.uint32(place) for k, place in enumerate(places)]
    return np.bitwise_or.reduce(shifted)


def wide_places(config: RegisterFedConfig, is_a: bool) -> tuple[np.ndarray, np.ndarray]:
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


def unpack_a(registers, config: RegisterFedConfig = VIRGO) -> np.ndarray:
    """Return A from its registers, f0 and so on.

    In warps of 8 threads a lane holds a row, k ascending.
    """
    numbers = numbers_of(registers, config)
    if config.threads == THREADS:
        shape = (*numbers.shape[:-3], -1, THREADS)
        return np.swapaxes(numbers.reshape(shape), -1, -2)
    return placed(numbers, wide_places(config, is_a=True), (config.rows, config.depth))


def unpack_b(registers, config: RegisterFedConfig = VIRGO) -> np.ndarray:
    """Return B from its registers, f8 and so on; a lane holds a column as it does a row of A."""
    if config.threads == THREADS:
        return np.swapaxes(unpack_a(registers, config), -1, -2)
    numbers = numbers_of(registers, config)
    columns = placed(numbers, wide_places(config, is_a=False), (BLOCK, config.depth))
    return np.swapaxes(columns, -1, -2)


def pack_a(a, config: RegisterFedConfig = VIRGO) -> np.ndarray:
    """Return the registers that hold A."""
    a = np.asarray(a, np.uint32)
    if config.threads == THREADS:
        a = np.swapaxes(a, -1, -2)
        return stored(a.reshape(*a.shape[:-2], -1, 32 // config.operand_width, THREADS), config)
    row, k = wide_places(config, is_a=True)
    return stored(a[..., row, k], config)


def pack_b(b, config: RegisterFedConfig = VIRGO) -> np.ndarray:
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


def hmma(
    registers, accumulators: int = ACCUMULATORS[0], config: RegisterFedConfig = VIRGO
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
