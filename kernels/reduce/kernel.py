"""Problem of the vector sum: elements and expected total."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound, normal
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of summing `n` elements."""
    require_integer("n", n, 1, 1 << 24)
    x = given.get("x", summable(rng, n))
    wide = x.astype(np.float64)
    # Every partial sum of summable values is exact in every order, and so is the sum.
    bound = chain_bound(n - 1, np.abs(wide).sum(keepdims=True)) if given else 0.0
    total = Buffer(
        data=np.full(1, np.nan, np.float32), expected=wide.sum(keepdims=True), bound=bound
    )
    return Problem(
        buffers={"x": Buffer(data=x), "total": total},
        arguments=(n, "x", "total"),
        operations=n - 1,
    )


def summable(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return normal values rounded so coarsely that FP32 holds every partial sum exactly.

    The order of additions depends on the machine, and a bound for every order, of n - 1 roundings,
    is too wide to notice a lost element. Multiples of a quantum q whose magnitudes sum to at most
    ``2**24 q`` need no rounding in any order. No value is zero, so a lost element is always
    visible.
    """
    values = normal(rng, n).astype(np.float64)
    bits = 22 - int(np.ceil(np.log2(n))) - int(np.ceil(np.log2(np.abs(values).max() + 1)))
    quantum = 2.0**-bits
    steps = np.rint(values / quantum)
    steps[steps == 0] = 1
    assert np.abs(steps).sum() <= 2**24
    return (steps * quantum).astype(np.float32)


KERNEL = Kernel(
    name="reduce",
    dimensions=("n",),
    usual=(16_384,),
    pose=pose,
    inputs={"x": Input("n")},
)
