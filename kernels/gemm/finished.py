"""Common parts of kernels whose cores finish the tiles of the matrix unit."""

from collections.abc import Callable

import numpy as np

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.config.formats import FORMATS, FloatFormat
from ..kernel import Kernel, Problem
from .problem import GemmProblem
from .product import stored_operands, wide_problem
from .reference import half_least, reference, roundoff
from .styles import style_of
from .target import systolic_unit

__all__ = ["finished_kernel", "posed_product", "rounded"]


def finished_kernel(name: str, config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return a kernel that needs a matrix unit and a warp besides the commanding one.

    `posed` is the kernel's `pose`.
    """
    systolic_unit(config, name)
    warps = config.cores * config.core.warps if config.core is not None else 0
    if warps < 2:
        raise UserError(f"{name} needs a warp besides the commanding one: 2 or more, not {warps}")
    return Kernel(name=name, dimensions=("m", "n", "k"), pose=posed)


def posed_product(
    config: MachineConfig, rng: np.random.Generator, **options
) -> tuple[Problem, GemmProblem, np.ndarray, np.ndarray]:
    """Return the result of `pose` of the style, and the product in float64 with its bound.

    Value and bound are those of the accumulator's format, which the cores read. Options are those
    of `pose`.
    """
    problem, product = style_of(config).pose(config, rng, **options)
    if product.c_format == "bf16":
        raise UserError("C of a product finished by the cores must be fp16 or fp32, not bf16")
    a, b = stored_operands(problem, product)
    rows, is_extreme = systolic_unit(config).rows, problem.buffers["c"].permits_overflow
    values, bound = reference(wide_problem(product), a, b, rows, is_extreme=is_extreme)
    return problem, product, values, bound


def rounded(value: np.ndarray, bound: np.ndarray, form: str) -> np.ndarray:
    """Return the error bound after values with error `bound` are rounded to format `form`."""
    target = FORMATS[form]
    if not isinstance(target, FloatFormat):
        return bound
    return bound + (np.abs(value) + bound) * roundoff(target) + half_least(target)
