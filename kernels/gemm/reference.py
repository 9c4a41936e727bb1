"""The product in float64, and how far a right result may lie from it."""

import numpy as np

from .problem import GemmProblem

__all__ = ["reference"]

FP32_ROUNDING = 2.0**-24
FP16_ROUNDING = 2.0**-11
FP16_SUBNORMAL = 2.0**-25


def reference(problem: GemmProblem, a, b, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return C in float64 and a bound on the error of each element.

    Any order of n additions in FP32, each rounded once, errs by at most ``n u / (1 - n u)`` times
    the sum of the magnitudes, with ``u = 2**-24``; here n counts the multiply-adds of a chain of
    `rows`, the sums of the slabs, and a scaling. FP16 results add half a unit in their last place.
    """
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        c = wide_a @ wide_b
        magnitude = np.abs(wide_a) @ np.abs(wide_b)
        if problem.c_format == "int32":
            wrapped = c.astype(np.int64).astype(np.uint32).view(np.int32)
            c, bound = wrapped.astype(np.float64), np.zeros_like(c)
        else:
            steps = (min(rows, problem.k) + -(-problem.k // rows) + 1) * FP32_ROUNDING
            bound = steps / (1 - steps) * magnitude
        if problem.scale is not None:
            scale = float(np.float32(problem.scale))
            c, bound = c * scale, bound * abs(scale)
        if problem.relu:
            c = np.where(c < 0, 0.0, c)
        if problem.c_format == "fp16":
            bound = bound + (np.abs(c) + bound) * FP16_ROUNDING + FP16_SUBNORMAL
    return c, bound
