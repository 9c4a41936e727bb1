"""Problem of the bitonic sort: keys and their sorted order."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]

EXTREMES = np.array([0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1], np.uint32)


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of sorting `n` keys, with extreme and duplicate keys among them."""
    require_integer("n", n, 1, 1 << 24)
    keys = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    is_extreme = rng.random(n) < 1 / 16
    keys[is_extreme] = rng.choice(EXTREMES, np.count_nonzero(is_extreme))
    keys = given.get("keys", keys)
    return Problem(
        buffers={"keys": Buffer(data=keys, expected=np.sort(keys))},
        arguments=(n, "keys"),
        # Comparisons that distinguish all orders of n keys, without the lower-order terms.
        operations=n * (n - 1).bit_length(),
    )


KERNEL = Kernel(
    name="bitonic_sort",
    dimensions=("n",),
    usual=(1024,),
    pose=pose,
    inputs={"keys": Input("n", "uint32")},
)
