"""Problem of the gather from random indices: table, indices and expected words."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Input, Kernel, Problem
from ..words import random_words

__all__ = ["KERNEL"]

MOST = 1 << 26


def pose(rng: np.random.Generator, *, n: int, table: int, **given: np.ndarray) -> Problem:
    """Return the problem of gathering `n` words from a table of `table` words."""
    for name, size in (("n", n), ("table", table)):
        require_integer(name, size, 1, MOST)
    x = given.get("x", random_words(rng, table))
    index = given.get("index", rng.integers(0, table, n, dtype=np.uint32))
    if index.max() >= table:
        raise ValueError(f"index must be below the size of the table, {table}, not {index.max()}")
    y = Buffer(data=np.zeros(n, np.uint32), expected=x[index])
    return Problem(
        buffers={"x": Buffer(data=x), "index": Buffer(data=index), "y": y},
        arguments=(n, "x", "index", "y"),
        operations=n,
    )


KERNEL = Kernel(
    name="random_access",
    dimensions=("n", "table"),
    usual=(4096, 16_384),
    pose=pose,
    inputs={"x": Input("table", "uint32"), "index": Input("n", "uint32")},
)
