"""Problem of the FP32 matrix product: factors, expected product and error bound."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound, normal
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, m: int, n: int, k: int, **given: np.ndarray) -> Problem:
    """Return the problem of multiplying `m` x `k` by `k` x `n`, row-major and dense."""
    for name, size in (("m", m), ("n", n), ("k", k)):
        require_integer(name, size, 1, 8192)
    a, b = given.get("a", normal(rng, m, k)), given.get("b", normal(rng, k, n))
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    # A chain of k fused multiply-adds from zero: a term passes at most k roundings.
    bound = chain_bound(k, np.abs(wide_a) @ np.abs(wide_b))
    c = Buffer(data=np.full((m, n), np.nan, np.float32), expected=wide_a @ wide_b, bound=bound)
    return Problem(
        buffers={"a": Buffer(data=a), "b": Buffer(data=b), "c": c},
        arguments=(m, n, k, "a", "b", "c"),
        operations=2 * m * n * k,
    )


KERNEL = Kernel(
    name="sgemm",
    dimensions=("m", "n", "k"),
    usual=(64, 64, 64),
    pose=pose,
    inputs={"a": Input("m k"), "b": Input("k n")},
)
