"""FP32 data for kernels, and error bounds for chains of roundings."""

import numpy as np

__all__ = ["EXTREMES", "HALF_LEAST", "ROUNDOFF", "chain_bound", "normal", "with_extremes"]

#: Largest relative error of one rounding to FP32.
ROUNDOFF = 2.0**-24
#: Half the least subnormal: largest error of one rounding to a subnormal result.
HALF_LEAST = 2.0**-150

LARGEST = np.finfo(np.float32).max
NORMAL = np.finfo(np.float32).smallest_normal
SUBNORMAL = np.finfo(np.float32).smallest_subnormal

#: Boundary values of FP32.
EXTREMES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0),
        *(LARGEST, -LARGEST, NORMAL, -NORMAL, SUBNORMAL, -SUBNORMAL, NORMAL - SUBNORMAL),
        *(np.inf, -np.inf, np.nan),
    ],
    dtype=np.float32,
)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return normally distributed FP32 values."""
    return rng.standard_normal(shape, dtype=np.float32)


def with_extremes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return normal values with about one in eight replaced by one of `EXTREMES`."""
    values = normal(rng, *shape)
    chosen = rng.random(shape) < 1 / 8
    values[chosen] = rng.choice(EXTREMES, np.count_nonzero(chosen))
    return values


def chain_bound(roundings: int, magnitude: np.ndarray) -> np.ndarray:
    """Return the error bound of a sum whose terms each pass `roundings` roundings.

    `magnitude` is the sum of the terms' magnitudes. Each rounding multiplies its terms by ``1 + d``
    with ``|d| <= u``, and adds at most half the least subnormal if the result is tiny. The error is
    at most ``((1 + u)**n - 1) S + n e <= (n u / (1 - n u)) S + n e``.
    """
    relative = roundings * ROUNDOFF / (1 - roundings * ROUNDOFF)
    return relative * magnitude + roundings * HALF_LEAST
