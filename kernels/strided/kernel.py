"""Problem of the strided copy: source and expected destination."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Input, Kernel, Problem
from ..words import random_words

__all__ = ["KERNEL"]

MOST = 1 << 26


def pose(rng: np.random.Generator, *, n: int, stride: int, **given: np.ndarray) -> Problem:
    """Return the problem of copying `n` words that are `stride` words apart."""
    for name, size in (("n", n), ("stride", stride)):
        require_integer(name, size, 1, MOST)
    if n * stride > MOST:
        raise ValueError(f"n x stride must be at most {MOST}, not {n} x {stride} = {n * stride}")
    x = given.get("x", random_words(rng, n * stride))
    y = Buffer(data=np.zeros(n, np.uint32), expected=x[::stride].copy())
    return Problem(
        buffers={"x": Buffer(data=x), "y": y},
        arguments=(n, stride, "x", "y"),
        operations=n,
    )


KERNEL = Kernel(
    name="strided",
    dimensions=("n", "stride"),
    usual=(4096, 4),
    pose=pose,
    inputs={"x": Input("n*stride", "uint32")},
)
