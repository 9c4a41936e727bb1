"""Problem of a product with operands in shared memory: plain matrices, as in DRAM."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ....hw.base.errors import UserError
from ....hw.config import ClusterConfig
from ...kernel import Kernel, Problem
from ..problem import GemmProblem
from ..product import pose_product
from ..target import hgmma_unit
from ..tensor.reference import reference
from .plan import hgmma_plan

__all__ = ["OPERANDS", "hgmma_kernel", "pose"]

#: Operand formats of the program.
OPERANDS = ("fp16", "fp32")


def hgmma_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return the kernel ``gemm`` for a machine whose tensor units read shared memory.

    Options are those of `pose`.
    """
    hgmma_unit(config, "gemm with hgmma")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        return pose(config, rng, **sizes, **options)[0]

    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(config: ClusterConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    `config` has such tensor units; options are those of `product.pose_product`.
    """
    tensor = hgmma_plan(config).tensor
    if tensor.operand not in OPERANDS:
        raise UserError(
            f"operands of gemm with hgmma must be {' or '.join(OPERANDS)}, not {tensor.operand}"
        )

    def expected(problem: GemmProblem, a: np.ndarray, b: np.ndarray):
        return reference(problem, tensor, a, b)

    problem, product = pose_product(rng, tensor.operand, expected, **options)
    return replace(problem, tensor_macs=product.macs), product
