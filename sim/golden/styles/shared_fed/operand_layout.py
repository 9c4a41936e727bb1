"""Golden model of the layout of the operands of ``hgmma`` in shared memory."""

import numpy as np

from .....hw.styles.shared_fed.config import (
    SWIZZLE_ROW_BYTES,
    SWIZZLE_UNIT_BYTES,
    SharedFedConfig,
)

__all__ = ["operand_places", "swizzled"]


def swizzled(address) -> np.ndarray:
    """Return where a byte is stored: its unit of 16 bytes is XORed with its row of 128, modulo 8.

    The function is its own inverse.
    """
    address = np.asarray(address, np.uint32)
    row = address // SWIZZLE_ROW_BYTES % (SWIZZLE_ROW_BYTES // SWIZZLE_UNIT_BYTES)
    return address ^ row * np.uint32(SWIZZLE_UNIT_BYTES)


def operand_places(config: SharedFedConfig, address: int, is_a: bool) -> np.ndarray:
    """Return the addresses of the bytes of A or B at `address`, row by row."""
    byte = np.arange(config.operand_bytes, dtype=np.uint32)
    if not config.is_swizzled:
        return np.uint32(address) + byte
    size = config.a_row_bytes if is_a else config.b_row_bytes
    return swizzled(address + byte // size * SWIZZLE_ROW_BYTES + byte % size)
