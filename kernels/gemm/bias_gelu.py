"""Problem of C = gelu(A · B + bias) for the cores: data and expected results."""

import math
from dataclasses import replace

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ..floats import ROUNDOFF, normal, with_extremes
from ..kernel import Buffer, Kernel, Problem
from .finished import finished_kernel, posed_product, rounded
from .problem import GemmProblem
from .product import with_gaps
from .target import systolic_unit

__all__ = ["CUBIC", "LINEAR", "cores_kernel", "pose"]

#: Exponent of 2: ``x (LINEAR + CUBIC x^2)``; the program has both constants rounded to FP32.
LINEAR = -2 * math.log2(math.e) * math.sqrt(2 / math.pi)
CUBIC = 0.044715 * LINEAR
#: Largest slope of gelu.
STEEPEST = 1.13


def cores_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return the kernel for a machine; options are those of `kernels.gemm.cores.pose`."""

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        return pose(config, rng, **sizes, **options)[0]

    if systolic_unit(config, "gemm_bias_gelu").operand == "int8":
        raise UserError("gemm_bias_gelu needs floating-point operands, not int8")
    return finished_kernel("gemm_bias_gelu", config, posed)


def pose(config: ClusterConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    The bias is FP32, one value per column. Options are those of `kernels.gemm.cores.pose`.
    """
    problem, product, values, bound = posed_product(config, rng, **options)
    is_extreme = options.get("data") == "extreme"
    bias = (with_extremes if is_extreme else normal)(rng, product.n)
    with np.errstate(all="ignore"):
        x = values + bias.astype(np.float64)
        value, bound = gelu(x, rounded(x, bound, "fp32"))
    if product.c_format == "fp16":
        bound = rounded(value, bound, "fp16")
    before = problem.buffers["c"].data
    expected, bounds = with_gaps(before, value, bound)
    buffers = problem.buffers | {
        "c": Buffer(data=before, expected=expected, bound=bounds),
        "bias": Buffer(data=bias),
    }
    posed = replace(
        problem,
        buffers=buffers,
        arguments=(*problem.arguments, "bias"),
        # Per element: sum; square, three for the exponent, power of 2, sum, quotient.
        operations=problem.operations + 8 * product.m * product.n,
    )
    return posed, product


def gelu(x: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2``, and the cores' error bound.

    The cores compute x / d with d = 1 + 2^t, t = x (LINEAR + CUBIC x^2). An error of `bound` in x
    changes the result by at most `STEEPEST` times as much. With u the unit roundoff:

    - t has two rounded constants and three operations: 5 u |t|, so 2^t has 5 u |t| log(2), and 2 u
      more because the special function is faithful;
    - d rounds once, u; its reciprocal is faithful, 2 u; the product rounds once.

    If 2^t or the reciprocal of d is outside FP32's range, the result is off by at most |x| 2^-125.
    """
    t = x * (LINEAR + CUBIC * x * x)
    value = x / (1 + np.exp2(t))
    relative = ROUNDOFF * (5 * np.log(2) * np.minimum(np.abs(t), 130) + 6)
    relative = relative / (1 - relative)
    own = np.where(np.isfinite(x), np.abs(value) * relative + np.abs(x) * 2.0**-125, 0.0)
    return value, own + STEEPEST * bound + 2.0**-149
