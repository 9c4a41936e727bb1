"""Problem of a product with operands in shared memory: plain matrices, as in DRAM."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....hw.config import ClusterConfig
from ...kernel import Kernel, Problem
from ..problem import GemmProblem
from ..register_fed.product import pose_tensor_product
from ..target import hgmma_unit
from .plan import shared_fed_plan

__all__ = ["hgmma_kernel", "pose"]

#: Name in messages.
USER = "gemm with hgmma"


def hgmma_kernel(config: ClusterConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``gemm`` for a machine whose tensor units read shared memory."""
    hgmma_unit(config, USER)
    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(config: ClusterConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    `config` has such tensor units; options are those of `product.pose_product`.
    """
    plan = shared_fed_plan(config)
    problem, product = pose_tensor_product(rng, plan.tensor, USER, **options)
    return replace(problem, defines=plan.defines), product
