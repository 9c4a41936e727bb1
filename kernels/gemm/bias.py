"""Problems of C = f(A · B + bias) for the cores: data and expected results."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ..floats import ROUNDOFF, normal, with_extremes
from ..kernel import Buffer, Kernel, Problem
from .finished import finished_kernel, posed_product, rounded
from .problem import GemmProblem
from .product import with_gaps
from .target import systolic_unit

__all__ = ["ACTIVATIONS", "Activation", "cores_kernel", "pose"]

Values = tuple[np.ndarray, np.ndarray]

#: Exponent of 2: ``x (LINEAR + CUBIC x^2)``; the program has both constants rounded to FP32.
LINEAR = -2 * math.log2(math.e) * math.sqrt(2 / math.pi)
CUBIC = 0.044715 * LINEAR
#: Largest slope of gelu.
STEEPEST = 1.13


@dataclass(frozen=True, kw_only=True)
class Activation:
    """Function f of an element x.

    Parameters
    ----------
    values : callable
        From x and the bound of its error in float64: f(x), and the bound of the cores' result.
    operations : int
        Arithmetic operations per element.

    """

    values: Callable[[np.ndarray, np.ndarray], Values]
    operations: int


def cores_kernel(name: str, config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel of an activation, a name in `ACTIVATIONS`, for a machine."""
    if systolic_unit(config, name).operand == "int8":
        raise UserError(f"{name} needs floating-point operands, not int8")
    return finished_kernel(name, config, posed)


def pose(
    name: str,
    config: MachineConfig,
    rng: np.random.Generator,
    *,
    bias: np.ndarray | None = None,
    **options,
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    Parameters
    ----------
    name : str
        Name of the kernel.
    config : MachineConfig
        A machine with a matrix unit.
    rng : Generator
        Generator of the data.
    bias : ndarray or None
        One FP32 value per column; None for values from `rng`.
    options
        Options of `pose` of the style.

    """
    problem, product, values, bound = posed_product(config, rng, **options)
    if bias is None:
        is_extreme = options.get("data") == "extreme"
        bias = (with_extremes if is_extreme else normal)(rng, product.n)
    activation = ACTIVATIONS[name]
    with np.errstate(all="ignore"):
        x = values + bias.astype(np.float64)
        value, bound = activation.values(x, rounded(x, bound, "fp32"))
    if product.c_format == "fp16":
        bound = rounded(value, bound, "fp16")
    c = problem.buffers["c"]
    expected, bounds = with_gaps(c.data, value, bound, product.c_format)
    buffers = problem.buffers | {
        "c": replace(c, expected=expected, bound=bounds),
        "bias": Buffer(data=bias),
    }
    posed = replace(
        problem,
        buffers=buffers,
        arguments=(*problem.arguments, "bias"),
        operations=problem.operations + (1 + activation.operations) * product.m * product.n,
    )
    return posed, product


def unchanged(x: np.ndarray, bound: np.ndarray) -> Values:
    """Return x and its bound."""
    return x, bound


def relu(x: np.ndarray, bound: np.ndarray) -> Values:
    """Return x, or 0 for negative ones; NaN stays."""
    return np.where(x < 0, 0.0, x), bound


def gelu(x: np.ndarray, bound: np.ndarray) -> Values:
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


#: Activations by the names of their kernels. Operations of GELU: square, three for the exponent,
#: power of 2, sum, quotient.
ACTIVATIONS = {
    "gemm_bias": Activation(values=unchanged, operations=0),
    "gemm_bias_relu": Activation(values=relu, operations=1),
    "gemm_bias_gelu": Activation(values=gelu, operations=7),
}
