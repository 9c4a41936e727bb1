"""Golden model of ``hgmma``: bytes of its factors, and registers of its accumulator.

Arrays of registers have one row per register and one column per lane. All arrays may be stacked.
All numbers are stored bits.
"""

import numpy as np

from .....hw.config.formats import FORMATS
from .....hw.styles.shared_fed.config import SharedFedConfig
from ..tensor_product import THREADS, matrix_product, placed

__all__ = [
    "HGMMA_SHAPE",
    "hgmma",
    "hgmma_operands",
    "pack_tile",
    "stored_matrix",
    "unpack_tile",
]

#: Rows, columns and depth of one instruction with FP16.
HGMMA_SHAPE = (16, 16, 32)
#: Default of ``hgmma``: FP16, rounded as in Virgo.
VIRGO_TILE = SharedFedConfig()


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


def stored_matrix(matrix, config: SharedFedConfig = VIRGO_TILE) -> np.ndarray:
    """Return the bytes of a factor of ``hgmma``, row by row; `operand_places` has their places."""
    matrix = np.asarray(matrix, np.uint32)
    width = config.operand_width
    containers = matrix << np.uint32(width - FORMATS[config.operand].width)
    dense = np.ascontiguousarray(containers, f"<u{width // 8}")
    return dense.view(np.uint8).reshape(*matrix.shape[:-2], -1)


def hgmma_operands(a, b, config: SharedFedConfig = VIRGO_TILE) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B from their bytes, row by row."""
    form, width = FORMATS[config.operand], config.operand_width
    numbers = (
        np.asarray(x, np.uint8).view(f"<u{width // 8}").astype(np.uint32)
        >> np.uint32(width - form.width)
        for x in (a, b)
    )
    shapes = (config.side, config.depth), (config.depth, config.side)
    left, right = (
        array.reshape(*array.shape[:-1], *shape)
        for array, shape in zip(numbers, shapes, strict=True)
    )
    return left, right


def hgmma(a, b, registers, config: SharedFedConfig = VIRGO_TILE) -> np.ndarray:
    """Return the 32 float registers of a warp, an accumulator of 16 x 16, after ``hgmma``.

    `a` has 16 rows and `b` 16 columns, in stored numbers.
    """
    return pack_tile(matrix_product(a, b, unpack_tile(registers), config))
