"""Data of kernels that move words and compute nothing."""

import numpy as np

__all__ = ["random_words"]


def random_words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return 32-bit words: any bits, and so among them NaNs, infinities and subnormals."""
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32)
