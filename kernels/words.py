"""Data of kernels that move words without arithmetic."""

import numpy as np

__all__ = ["random_words"]


def random_words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return random 32-bit words; they include NaNs, infinities and subnormals."""
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32)
