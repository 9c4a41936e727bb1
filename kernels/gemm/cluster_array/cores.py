"""Problem of the product for the cores: one thread commands DMA and matrix unit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....hw.config import MachineConfig
from ...kernel import Kernel, Problem
from ..problem import GemmProblem
from ..product import pose_product
from ..reference import reference
from ..target import systolic_unit

__all__ = ["cluster_array_kernel", "pose"]


def cluster_array_kernel(config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``gemm`` for the cores of a machine with a matrix unit."""
    systolic_unit(config, "gemm on cores")
    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(config: MachineConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    `config` has a matrix unit; options are those of `product.pose_product`.
    """
    matrix = systolic_unit(config)

    def expected(problem: GemmProblem, a: np.ndarray, b: np.ndarray):
        return reference(problem, a, b, matrix.rows)

    problem, product = pose_product(rng, matrix.operand, expected, **options)
    return replace(problem, macs=(product.macs,)), product
