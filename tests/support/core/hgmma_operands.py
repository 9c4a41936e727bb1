"""Random operands of ``hgmma`` in which the extremes of a dot product meet."""

import numpy as np

from bench.units.operands.dot_product import dot_operands
from bench.units.tree import tree_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.golden.styles.shared_fed.hgmma import pack_tile, stored_matrix

__all__ = ["random_tiles"]


def random_tiles(
    config: SharedFedConfig, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of A and of B, (2, count, 1024), and the registers of C, (count, 32, 8).

    Row r of A, column r of B and number (r, r) of C are operands of one dot product.
    """
    dot = DotProductConfig.of(config)
    operands = tree_operands if dot.is_tree else dot_operands
    side, depth = config.side, config.depth
    vectors = operands(dot, rng, count * side * config.sets)
    a = vectors["a"].reshape(count, side, depth)
    b = vectors["b"].reshape(count, side, depth).transpose(0, 2, 1)
    c = rng.choice(vectors["c"], (count, side, side))
    diagonal = np.arange(side)
    c[:, diagonal, diagonal] = vectors["c"].reshape(count, side, config.sets)[:, :, 0]
    # Bits of a container beside its number have no effect.
    memory = np.stack([stored_matrix(matrix, config) for matrix in (a, b)])
    spare = config.operand_width - dot.a_format.width
    if spare:
        words = memory.view(np.uint32)
        words |= rng.integers(0, 1 << spare, words.shape, dtype=np.uint32)
    return memory, pack_tile(c)
