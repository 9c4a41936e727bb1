"""Problem of softmax by rows: data, expected result and error bound."""

import numpy as np

from ..floats import HALF_LEAST, ROUNDOFF, normal
from ..kernel import Buffer, Input, Kernel, Problem
from ..matrices import require_matrix

__all__ = ["KERNEL"]

#: Range of a row's standard deviation: in some rows all results matter, in some a few dominate.
DEVIATIONS = (0.5, 3.0)


def pose(rng: np.random.Generator, *, rows: int, columns: int, **given: np.ndarray) -> Problem:
    """Return the problem of `rows` rows of `columns` values."""
    require_matrix(rows, columns)
    x = normal(rng, rows, columns) * rng.uniform(*DEVIATIONS, (rows, 1)).astype(np.float32)
    # Offset each row differently: some overflow unless the maximum is subtracted.
    x += rng.uniform(-200, 200, (rows, 1)).astype(np.float32)
    x = given.get("x", x)
    expected, bound = softmax(x)
    result = Buffer(data=np.full_like(x, np.nan), expected=expected, bound=bound)
    return Problem(
        buffers={"x": Buffer(data=x), "y": result},
        arguments=(rows, columns, "x", "y"),
        operations=5 * rows * columns,
    )


def softmax(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the softmax of each row in float64, and the error bound of machines.

    With M a row's maximum and u the unit roundoff, an exponential e = 2**t, t = x L - fl(M L), has
    these relative errors:

    - L, the rounded log2(e), is off by at most u, relatively. So t is off by u |x - M| log2(e), and
      e by u |x - M|.
    - M L - fl(M L) is the same for a whole row and cancels in the quotient; it is at most s = u |M|
      log2(e).
    - the fused multiply-add rounds t, at most |x - M| log2(e) (1 + u) + s large: u (|x - M| + s).
    - the special function unit's exp2 is faithful, within 1 ulp: 2 u.

    A sum of positive values has at most their largest relative error, more precisely the mean of
    the errors weighted with the values. Each value passes at most columns - 1 additions, whatever
    the order. The reciprocal is faithful, 2 u, and the last product rounds once. Errors of relative
    size r_i together make at most R / (1 - R), with R their sum. Results below the least normal
    number may lose half the least subnormal in the product. An exponential may lose another half;
    the reciprocal of a sum of about 1 or more increases it by at most R.
    """
    wide = x.astype(np.float64)
    most = wide.max(axis=1, keepdims=True)
    exact = np.exp(wide - most)
    expected = exact / exact.sum(axis=1, keepdims=True)
    shift = ROUNDOFF * np.abs(most) / np.log(2)
    # Exponentials this far below the maximum are 0, whatever the error.
    distance = np.minimum(most - wide, 1000)
    exponential = ROUNDOFF * (2 * distance + shift + 2)
    in_sum = (expected * exponential).sum(axis=1, keepdims=True) + ROUNDOFF * (x.shape[1] - 1)
    relative = exponential + in_sum + 3 * ROUNDOFF
    relative = np.where(relative < 1, relative / (1 - relative), np.inf)
    return expected, relative * expected + 3 * HALF_LEAST * (1 + relative)


KERNEL = Kernel(
    name="softmax",
    dimensions=("rows", "columns"),
    usual=(64, 64),
    pose=pose,
    inputs={"x": Input("rows columns")},
)
