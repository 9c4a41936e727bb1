"""Problem of the pointer chase: a ring of nodes and the final position."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Kernel, Problem
from ..words import random_words

__all__ = ["KERNEL", "ring"]

MOST = 1 << 26
WORD_BYTES = 4


def ring(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the numbers 0 to n - 1 in visiting order: 0 first, the others at random."""
    return np.concatenate([[0], 1 + rng.permutation(n - 1)])


def pose(rng: np.random.Generator, *, n: int, stride: int, steps: int) -> Problem:
    """Return the problem of taking `steps` steps on a ring of `n` nodes, `stride` words apart.

    The ring takes ``4 n stride`` bytes. A node holds the byte offset of the next node from the
    first; the words between nodes are never read. The thread goes around once, then takes the
    measured steps between the markers. The result is its final offset.
    """
    for name, size in (("n", n), ("stride", stride), ("steps", steps)):
        require_integer(name, size, 1, MOST)
    if n * stride > MOST:
        raise ValueError(f"n x stride must be at most {MOST}, not {n} x {stride} = {n * stride}")
    order = ring(rng, n)
    nodes = random_words(rng, n * stride)
    nodes[order * stride] = np.roll(order, -1) * stride * WORD_BYTES
    offset = order[steps % n] * stride * WORD_BYTES
    last = Buffer(data=np.full(1, 0xFFFFFFFF, np.uint32), expected=np.array([offset], np.uint32))
    return Problem(
        buffers={"nodes": Buffer(data=nodes), "last": last},
        arguments=(n, steps, "nodes", "last"),
        operations=steps,
    )


KERNEL = Kernel(name="chase", dimensions=("n", "stride", "steps"), usual=(1024, 16, 256), pose=pose)
