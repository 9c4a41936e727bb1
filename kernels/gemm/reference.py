"""Reference product in float64, with an error bound for each element."""

import numpy as np

from ...hw.config.arithmetic import ARITHMETIC
from ...hw.config.formats import FORMATS, FloatFormat, IntFormat
from ..elements import values_of
from .problem import GemmProblem

__all__ = ["reference"]


def reference(
    problem: GemmProblem, a, b, rows: int, *, is_extreme: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return C in float64 and a bound on the error of each element.

    A chain of n operations, each rounded once to a format with unit roundoff u and least number 2
    e, errs by at most ``(n u / (1 - n u)) S + n e`` unless it overflows, with S the sum of the
    products' magnitudes. Here n counts the multiply-adds of a chain of `rows`, the sums of the
    slabs, and a scaling. A narrow result adds its own rounding. An intermediate sum that overflows
    makes the result infinite or NaN, or 0 with `relu`: no bound covers these. The bound is
    infinite where a sum may overflow and C is not finite, or the operands `is_extreme`.
    """
    wide_a, wide_b = values_of(a, problem.operand), values_of(b, problem.operand)
    accumulator = FORMATS[ARITHMETIC[problem.operand].accumulator]
    with np.errstate(all="ignore"):
        c = wide_a @ wide_b
        if isinstance(accumulator, IntFormat):
            c = c.astype(np.int64).astype(np.uint32).view(np.int32).astype(np.float64)
            return np.maximum(c, 0) if problem.relu else c, np.zeros_like(c)
        magnitude = np.abs(wide_a) @ np.abs(wide_b)
        steps = min(rows, problem.k) + -(-problem.k // rows) + 1
        relative = steps * roundoff(accumulator) / (1 - steps * roundoff(accumulator))
        bound = relative * magnitude + steps * half_least(accumulator)
        overflows = finite_magnitude(wide_a, wide_b) * (1 + relative) >= 2.0 ** (
            accumulator.largest_exponent + 1
        )
        if problem.scale is not None:
            scale = float(np.float32(problem.scale))
            c, bound = c * scale, bound * abs(scale) + half_least(accumulator)
        if problem.relu:
            c = np.where(c < 0, 0.0, c)
        result = FORMATS[problem.c_format]
        if result != accumulator:
            assert isinstance(result, FloatFormat)
            bound = bound + (np.abs(c) + bound) * roundoff(result) + half_least(result)
    return c, np.where(overflows & (is_extreme | ~np.isfinite(c)), np.inf, bound)


def roundoff(form: FloatFormat) -> float:
    """Return the largest relative error of rounding to `form`."""
    return 2.0**-form.significand_width


def half_least(form: FloatFormat) -> float:
    """Return half the least number of `form`, the largest error of rounding a subnormal."""
    return 2.0 ** (form.least_exponent - 1)


def finite_magnitude(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sums of the magnitudes of those products whose factors are finite."""
    a, b = (np.where(np.isfinite(x), np.abs(x), 0.0) for x in (a, b))
    return a @ b
