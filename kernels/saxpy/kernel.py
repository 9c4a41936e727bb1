"""Problem of the scaled vector sum: vectors, expected sum and error bound."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound, normal, with_extremes
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of adding a multiple of a vector of `n` elements to another."""
    require_integer("n", n, 1, 1 << 26)
    a = ({"a": normal(rng, 1)[0]} | given)["a"]
    x, y = (given.get(name, with_extremes(rng, n)) for name in "xy")
    with np.errstate(all="ignore"):
        # The product is exact in float64; the sum is then rounded once, relative 2**-53.
        expected = np.float64(a) * x + y
        # One rounding: product and sum are fused.
        bound = chain_bound(1, np.abs(expected)) * (1 + 2.0**-20)
    return Problem(
        buffers={"x": Buffer(data=x), "y": Buffer(data=y, expected=expected, bound=bound)},
        arguments=(n, float(a), "x", "y"),
        operations=2 * n,
    )


KERNEL = Kernel(
    name="saxpy",
    dimensions=("n",),
    usual=(8192,),
    pose=pose,
    inputs={"a": Input(""), "x": Input("n"), "y": Input("n")},
)
