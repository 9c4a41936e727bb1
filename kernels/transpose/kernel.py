"""Problem of the transpose: words and the expected result."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, m: int, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of transposing `m` rows of `n` words."""
    require_integer("m", m, 1, 8192)
    require_integer("n", n, 1, 8192)
    words = given.get("words", rng.integers(0, 1 << 32, (m, n), dtype=np.uint32))
    result = Buffer(data=np.zeros((n, m), np.uint32), expected=words.T.copy())
    return Problem(
        buffers={"words": Buffer(data=words), "result": result},
        arguments=(m, n, "words", "result"),
        operations=0,
    )


KERNEL = Kernel(
    name="transpose",
    dimensions=("m", "n"),
    usual=(64, 64),
    pose=pose,
    inputs={"words": Input("m n", "uint32")},
)
