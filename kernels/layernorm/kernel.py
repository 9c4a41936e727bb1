"""Problem of layer normalisation by rows: data, expected result and error bound."""

import numpy as np

from ..floats import HALF_LEAST, ROUNDOFF, normal
from ..kernel import Buffer, Input, Kernel, Problem
from ..matrices import require_matrix

__all__ = ["KERNEL"]

EPSILON = float(np.float32(1e-5))


def pose(rng: np.random.Generator, *, rows: int, columns: int, **given: np.ndarray) -> Problem:
    """Return the problem of `rows` rows of `columns` values."""
    require_matrix(rows, columns)
    # Rows differ in mean and deviation.
    x = normal(rng, rows, columns) * (1 + np.abs(normal(rng, rows, 1))) + normal(rng, rows, 1)
    gain, bias = 1 + normal(rng, columns) / 4, normal(rng, columns)
    x, gain, bias = ({"x": x, "gain": gain, "bias": bias} | given).values()
    expected, bound = layernorm(x, gain, bias)
    return Problem(
        buffers={
            "x": Buffer(data=x),
            "gain": Buffer(data=gain),
            "bias": Buffer(data=bias),
            "y": Buffer(data=np.full_like(x, np.nan), expected=expected, bound=bound),
        },
        arguments=(rows, columns, EPSILON, "x", "gain", "bias", "y"),
        # Per element: sum; difference, square, sum; difference and three more.
        operations=8 * rows * columns,
    )


def accumulated(roundings: int) -> float:
    """Return the largest relative error of this many roundings together."""
    return roundings * ROUNDOFF / (1 - roundings * ROUNDOFF)


def layernorm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normalised rows in float64, and the error bound of machines.

    For a row of c values and unit roundoff u, with g(n) = n u / (1 - n u):

    - mean: a value passes at most c - 1 additions, the product with 1 / c and the rounding of 1 /
      c. The mean is off by at most m = g(c + 1) sum |x| / c.
    - variance: the mean square about a mean that is off by d is v + d d. A square has 2 u from its
      rounded difference. It passes at most c fused multiply-adds and sums of four chains, c in all
      since sums of lanes replace others. Three roundings follow: 1 / c, its product and the sum
      with epsilon. The error is g(c + 5) (v + m m + epsilon), plus m m.
    - the root's argument w = v + epsilon is off by e w, so its reciprocal root is off by 1 / sqrt(1
      - e) - 1, and by 2 u because the special function unit is faithful: s together.
    - the normalised value: m for the mean, and two roundings for the difference and the product;
      gain and bias add one more.
    """
    wide = x.astype(np.float64)
    columns = x.shape[1]
    mean = wide.mean(axis=1, keepdims=True)
    mean_error = accumulated(columns + 1) * np.abs(wide).mean(axis=1, keepdims=True)
    argument = wide.var(axis=1, keepdims=True) + EPSILON
    off = (mean_error**2 + accumulated(columns + 5) * (argument + mean_error**2)) / argument
    scale = 1 / np.sqrt(argument)
    scale_error = (1 + 2 * ROUNDOFF) / np.sqrt(1 - off) - 1
    normalised = (wide - mean) * scale
    normalised_error = (
        (np.abs(wide - mean) + mean_error) * (1 + scale_error) * (1 + accumulated(2))
        - np.abs(wide - mean)
    ) * scale
    gain, bias = gain.astype(np.float64), bias.astype(np.float64)
    expected = normalised * gain + bias
    error = np.abs(gain) * normalised_error
    return expected, error + ROUNDOFF * (np.abs(expected) + error) + 4 * HALF_LEAST


KERNEL = Kernel(
    name="layernorm",
    dimensions=("rows", "columns"),
    usual=(64, 64),
    pose=pose,
    inputs={"x": Input("rows columns"), "gain": Input("columns"), "bias": Input("columns")},
)
