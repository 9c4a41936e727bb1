"""Problem of Jacobi steps on a grid: data, expected grids and error bound."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import HALF_LEAST, ROUNDOFF, normal
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]

CENTRE, SIDE = 0.5, 0.125
STEPS = 4


def pose(rng: np.random.Generator, *, h: int, w: int, **given: np.ndarray) -> Problem:
    """Return the problem of `STEPS` steps on a grid of `h` by `w` points.

    Both buffers hold the border; `even` also holds the interior. The steps write `odd` and `even`
    in turn. After an even number of steps, `even` holds the result and `odd` the step before it.
    """
    require_integer("h", h, 1, 8192)
    require_integer("w", w, 1, 8192)
    grid = given.get("even", normal(rng, h, w))
    states = [(grid.astype(np.float64), np.zeros((h, w)))]
    for _ in range(STEPS):
        states.append(step(*states[-1]))
    border_only = grid.copy()
    border_only[1:-1, 1:-1] = np.nan
    (last, last_bound), (before, before_bound) = states[-1], states[-2]
    return Problem(
        buffers={
            "even": Buffer(data=grid, expected=last, bound=last_bound),
            "odd": Buffer(data=border_only, expected=before, bound=before_bound),
        },
        arguments=(h, w, STEPS, "even", "odd"),
        operations=6 * STEPS * max(h - 2, 0) * max(w - 2, 0),
    )


def step(values: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values after a step, and the error bound of machines.

    A neighbour passes at most five roundings: three sums, the product with `SIDE` and the fused
    multiply-add of the centre. The new error is the same step applied to `bound`, plus ``5 u / (1 -
    5 u)`` times the step of the magnitudes.
    """
    roundings = 5
    relative = roundings * ROUNDOFF / (1 - roundings * ROUNDOFF)
    magnitudes = relaxed(np.abs(values) + bound)
    new_bound = relaxed(bound) + relative * magnitudes + roundings * HALF_LEAST
    inside = np.zeros(values.shape, bool)
    inside[1:-1, 1:-1] = True
    return np.where(inside, relaxed(values), values), np.where(inside, new_bound, 0.0)


def relaxed(grid: np.ndarray) -> np.ndarray:
    """Return `CENTRE` times each point plus `SIDE` times its neighbours, 0 at the border."""
    result = np.zeros_like(grid)
    sides = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    result[1:-1, 1:-1] = CENTRE * grid[1:-1, 1:-1] + SIDE * sides
    return result


KERNEL = Kernel(
    name="stencil",
    dimensions=("h", "w"),
    usual=(64, 64),
    pose=pose,
    inputs={"even": Input("h w")},
)
