"""Problem of the vector copy: source and expected destination."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Input, Kernel, Problem
from ..words import random_words

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of copying `n` words."""
    require_integer("n", n, 1, 1 << 26)
    a = given.get("a", random_words(rng, n))
    return Problem(
        buffers={"a": Buffer(data=a), "c": Buffer(data=~a[::-1], expected=a.copy())},
        arguments=(n, "a", "c"),
        operations=n,
    )


KERNEL = Kernel(
    name="copy",
    dimensions=("n",),
    usual=(16_384,),
    pose=pose,
    inputs={"a": Input("n", "uint32")},
)
