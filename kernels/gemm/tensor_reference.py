"""Reference product in float64, with an error bound for the numerics of tensor units."""

import numpy as np
from amaranth.utils import exact_log2

from ...hw.config.formats import FP16, FP32
from ...hw.config.numerics import TREES
from ...hw.config.tensor import TensorNumerics
from ..elements import values_of
from .problem import GemmProblem
from .reference import finite_magnitude, half_least, roundoff

__all__ = ["reference"]


def reference(problem: GemmProblem, tensor: TensorNumerics, a, b) -> tuple[np.ndarray, np.ndarray]:
    """Return C in float64 and a bound on the error of each element.

    In the trees a product passes its own rounding and one per level of sums, all to the format of
    the operands, then one to FP32 per step. Each of these operations may also err by half the least
    number. The other numerics truncate the terms of a step to at least 22 bits below the largest
    one, which is at most the sum of all magnitudes. A product or sum that exceeds its format makes
    the result infinite or NaN, which no bound covers. If C is not finite and a sum of finite
    magnitudes exceeds the format too, the bound is infinite.
    """
    wide_a, wide_b = values_of(a, problem.operand), values_of(b, problem.operand)
    steps = -(-problem.k // tensor.terms)
    with np.errstate(all="ignore"):
        c = wide_a @ wide_b
        magnitude = np.abs(wide_a) @ np.abs(wide_b)
        finite = finite_magnitude(wide_a, wide_b)
        largest = FP32.largest_exponent
        if tensor.numerics in TREES:
            form = FP16 if tensor.operand == "fp16" else FP32
            roundings = 1 + exact_log2(tensor.terms)
            relative = (1 + roundoff(form)) ** roundings * (1 + roundoff(FP32)) ** steps - 1
            least = steps * (2 * tensor.terms - 1) * half_least(form)
            bound = relative * (magnitude + least) + least
            largest = form.largest_exponent
        else:
            relative = steps * (tensor.terms + 2) * 2.0**-22
            bound = relative * magnitude + steps * half_least(FP32)
        overflows = finite * (1 + relative) >= 2.0**largest
        if problem.c_format == "fp16":
            bound = bound + (np.abs(c) + bound) * roundoff(FP16) + half_least(FP16)
    return c, np.where(overflows & ~np.isfinite(c), np.inf, bound)
