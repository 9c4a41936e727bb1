"""Problem of gravitating bodies: positions, masses, expected accelerations and error bound."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import HALF_LEAST, ROUNDOFF, normal
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]

#: Softening: square of the distance below which attraction fades.
SOFTENING = float(np.float32(0.01))
#: Bodies that the reference processes at a time.
BLOCK = 256


def pose(rng: np.random.Generator, *, n: int, **given: np.ndarray) -> Problem:
    """Return the problem of `n` bodies."""
    require_integer("n", n, 1, 1 << 16)
    drawn = dict(zip("xyz", normal(rng, 3, n), strict=True))
    drawn["mass"] = rng.uniform(0.5, 2.0, n).astype(np.float32)
    *places, mass = (drawn | given).values()
    places = np.stack(places)
    expected, bound = accelerations(places, mass)
    unset = np.full(n, np.nan, np.float32)
    buffers = {name: Buffer(data=row.copy()) for name, row in zip("xyz", places, strict=True)}
    buffers["mass"] = Buffer(data=mass)
    for row, name in enumerate(("ax", "ay", "az")):
        buffers[name] = Buffer(data=unset.copy(), expected=expected[row], bound=bound[row])
    return Problem(
        buffers=buffers,
        arguments=(n, SOFTENING, *buffers),
        # Usual count: 3 differences, 6 for the square, 4 for its power -3/2 and the mass (the root
        # counts as one), 6 for the sums; a body with itself counts too.
        operations=19 * n * n,
    )


def accelerations(places: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations in float64, rows x, y, z, and the error bound of machines.

    A term is m d q**3, with d a component of the vector to the other body, q the reciprocal root of
    s = |d|**2 + softening. In units of the roundoff u, its relative error is

    - d: 1 rounding;
    - s: twice that in each square, and at most 3 fused multiply-adds, all terms positive: 5;
    - q: half of these because it is a root, and 2 because the special function unit is faithful:
      4.5;
    - q**3 m: three times those and three products: 16.5;
    - with d: 17.5, and it passes at most n fused multiply-adds.

    The root halves the factor of 5 and makes it at most 5 u larger, which half a rounding covers: n
    + 18 roundings, relative to the sum of the terms' magnitudes.
    """
    n = len(mass)
    wide, heavy = places.astype(np.float64), mass.astype(np.float64)
    total, magnitudes = np.zeros((3, n)), np.zeros((3, n))
    for first in range(0, n, BLOCK):
        part = slice(first, first + BLOCK)
        way = wide[:, None, :] - wide[:, part, None]
        power = (np.sum(way**2, axis=0) + SOFTENING) ** -1.5
        terms = way * (power * heavy)
        total[:, part], magnitudes[:, part] = terms.sum(axis=2), np.abs(terms).sum(axis=2)
    roundings = n + 18
    relative = roundings * ROUNDOFF / (1 - roundings * ROUNDOFF)
    return total, relative * magnitudes + roundings * HALF_LEAST


KERNEL = Kernel(
    name="nbody",
    dimensions=("n",),
    usual=(64,),
    pose=pose,
    inputs={name: Input("n") for name in ("x", "y", "z", "mass")},
)
