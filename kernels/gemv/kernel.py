"""Problem of the matrix-vector product: factors and expected result."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL", "factors"]

MOST = 1 << 26
#: Sums of integers up to this magnitude need no rounding.
EXACT = 1 << 24


def pose(rng: np.random.Generator, *, m: int, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of multiplying an `m` x `n` matrix, row-major and dense, by a vector."""
    for name, size, most in (("m", m, MOST), ("n", n, 1 << 20)):
        require_integer(name, size, 1, most)
    if m * n > MOST:
        raise ValueError(f"m x n must be at most {MOST}, not {m} x {n} = {m * n}")
    a, x = factors(rng, m, n), factors(rng, 1, n)[0]
    a, x = ({"a": a, "x": x} | given).values()
    wide_a, wide_x = a.astype(np.float64), x.astype(np.float64)
    # Every partial sum of factors is exact in every order, and so is the product: the bound is 0.
    bound = chain_bound(n, np.abs(wide_a) @ np.abs(wide_x)) if given else 0.0
    y = Buffer(data=np.full(m, np.nan, np.float32), expected=wide_a @ wide_x, bound=bound)
    return Problem(
        buffers={"a": Buffer(data=a), "x": Buffer(data=x), "y": y},
        arguments=(m, n, "a", "x", "y"),
        operations=2 * m * n,
    )


def factors(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Return integers so small that FP32 holds each sum of up to `n` products of two exactly.

    The order of the lanes' sums depends on the machine, and a bound that holds for every order is
    too wide to notice a missing product. No factor is zero, so a missing product is always visible.
    Factors have as many bits as fit, up to 11, so that no bit position of a product is always zero.
    """
    largest = min(2047, int(np.sqrt(EXACT // n)))
    size = rng.integers(1, largest, (rows, n), endpoint=True)
    return (size * rng.choice([-1, 1], (rows, n))).astype(np.float32)


KERNEL = Kernel(
    name="gemv",
    dimensions=("m", "n"),
    usual=(128, 128),
    pose=pose,
    inputs={"a": Input("m n"), "x": Input("n")},
)
