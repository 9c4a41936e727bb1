"""Sizes of attention on tensor units that its results depend on, as in ``attention_sizes.h``."""

from ....hw.config.tensor import TensorConfig

__all__ = ["CHUNK", "TILE", "block_keys"]

#: Queries of a warp.
TILE = 8
#: Keys whose scores, and columns of O, are in the accumulators of a warp at a time.
CHUNK = 16
#: Largest width of a row of K, in bits, with blocks of 64 keys.
WIDE_ROW = 2048


def block_keys(tensor: TensorConfig, depth: int) -> int:
    """Return the keys of a block, after which maxima are updated."""
    return 32 if depth * tensor.operand_width > WIDE_ROW else 64
