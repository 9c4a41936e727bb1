"""What kernels have in common whose cores finish the tiles that the matrix unit makes."""

from collections.abc import Callable

import numpy as np

from ...hw.arithmetic import ARITHMETIC
from ...hw.config import ClusterConfig
from ...hw.errors import UserError
from ...hw.formats import FORMATS, FloatFormat
from ..kernel import Kernel, Problem
from .cores import pose
from .problem import GemmProblem
from .reference import half_least, reference, roundoff

__all__ = ["finished_kernel", "posed_product", "rounded", "with_gaps"]


def finished_kernel(name: str, config: ClusterConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return a kernel for a machine that has a matrix unit, and warps beside the one that commands.

    `posed` is the kernel's `pose`.
    """
    if config.matrix is None:
        raise UserError(f"{name} needs a matrix unit, and this machine has none")
    warps = config.cores * config.core.warps if config.core is not None else 0
    if warps < 2:
        raise UserError(f"{name} needs a warp beside the one that commands: 2 or more, not {warps}")
    return Kernel(name=name, dimensions=("m", "n", "k"), pose=posed)


def posed_product(
    config: ClusterConfig, rng: np.random.Generator, **options
) -> tuple[Problem, GemmProblem, np.ndarray, np.ndarray]:
    """Return the product as `cores.pose` poses it, and it in float64 with its bound.

    Value and bound are those of the accumulator's format, in which the cores take it over.
    Options are those of `pose`.
    """
    problem, product = pose(config, rng, **options)
    assert config.matrix is not None
    a = problem.buffers["a"].data[:, : product.k]
    b = problem.buffers["b"].data[:, : product.n]
    wide = GemmProblem.placed(
        **{"m": product.m, "n": product.n, "k": product.k, "operand": product.operand},
        c_format=ARITHMETIC[product.operand].accumulator,
    )
    values, bound = reference(wide, a, b, config.matrix.rows)
    return problem, product, values, bound


def rounded(value: np.ndarray, bound: np.ndarray, form: str) -> np.ndarray:
    """Return a bound on values with the error `bound` after they are rounded to format `form`."""
    target = FORMATS[form]
    if not isinstance(target, FloatFormat):
        return bound
    return bound + (np.abs(value) + bound) * roundoff(target) + half_least(target)


def with_gaps(
    before: np.ndarray, value: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what C must be and its bound, with what lies between its rows untouched."""
    with np.errstate(invalid="ignore"):
        expected = before.astype(np.float64)
    bounds = np.zeros(before.shape)
    expected[:, : value.shape[1]], bounds[:, : value.shape[1]] = value, bound
    return expected, bounds
