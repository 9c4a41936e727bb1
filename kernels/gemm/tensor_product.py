"""Problem of a product on tensor units of cores, for every source of their operands."""

from dataclasses import replace

import numpy as np

from ...base.errors import UserError
from ...hw.config.tensor import TensorNumerics
from ..kernel import Problem
from .problem import GemmProblem
from .product import pose_product
from .tensor_reference import reference

__all__ = ["OPERANDS", "pose_tensor_product"]

#: Operand formats of the programs.
OPERANDS = ("fp16", "fp32")


def pose_tensor_product(
    rng: np.random.Generator, tensor: TensorNumerics, user: str, **options
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    Options are those of `product.pose_product`. `UserError` names `user` if the programs have no
    such operands.
    """
    if tensor.operand not in OPERANDS:
        raise UserError(f"operands of {user} must be {' or '.join(OPERANDS)}, not {tensor.operand}")

    def expected(problem: GemmProblem, a: np.ndarray, b: np.ndarray):
        return reference(problem, tensor, a, b)

    problem, product = pose_product(rng, tensor.operand, expected, **options)
    return replace(problem, tensor_macs=product.macs), product
