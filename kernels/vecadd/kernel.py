"""Problem of the vector sum: vectors, expected sum and error bound."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound, with_extremes
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of adding vectors of `n` elements."""
    require_integer("n", n, 1, 1 << 26)
    x, y = (given.get(name, with_extremes(rng, n)) for name in "xy")
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) + y
        # One rounding of a sum that float64 holds exactly, or to within 2**-53 of itself.
        bound = chain_bound(1, np.abs(expected)) * (1 + 2.0**-20)
    z = Buffer(data=np.full(n, np.nan, np.float32), expected=expected, bound=bound)
    return Problem(
        buffers={"x": Buffer(data=x), "y": Buffer(data=y), "z": z},
        arguments=(n, "x", "y", "z"),
        operations=n,
    )


KERNEL = Kernel(
    name="vecadd",
    dimensions=("n",),
    usual=(8192,),
    pose=pose,
    inputs={"x": Input("n"), "y": Input("n")},
)
