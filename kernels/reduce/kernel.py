"""Data of the sum of a vector, and what it must be."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import normal
from ..kernel import Buffer, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, n: int) -> Problem:
    """Return the problem of summing `n` elements."""
    require_integer("n", n, 1, 1 << 24)
    x = summable(rng, n)
    # Every partial sum in every order is exact, so the sum is: the bound is 0.
    total = Buffer(
        data=np.full(1, np.nan, np.float32), expected=x.sum(dtype=np.float64, keepdims=True)
    )
    return Problem(
        buffers={"x": Buffer(data=x), "total": total},
        arguments=(n, "x", "total"),
        operations=n - 1,
    )


def summable(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return normal values rounded so coarsely that FP32 holds each sum of some of them exactly.

    How they are added depends on the machine, and a bound that holds for every order, of n - 1
    roundings, is too wide to notice a lost element. Multiples of a quantum q whose magnitudes sum
    to at most ``2**24 q`` need no rounding in any order. None is zero, so none can be lost unseen.
    """
    values = normal(rng, n).astype(np.float64)
    bits = 22 - int(np.ceil(np.log2(n))) - int(np.ceil(np.log2(np.abs(values).max() + 1)))
    quantum = 2.0**-bits
    steps = np.rint(values / quantum)
    steps[steps == 0] = 1
    assert np.abs(steps).sum() <= 2**24
    return (steps * quantum).astype(np.float32)


KERNEL = Kernel(name="reduce", dimensions=("n",), pose=pose)
