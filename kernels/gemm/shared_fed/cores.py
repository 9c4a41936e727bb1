"""Problem of a product with operands in shared memory: plain matrices, as in DRAM."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....hw.config import MachineConfig
from ...kernel import Kernel, Problem
from ..problem import GemmProblem
from ..tensor_product import pose_tensor_product
from .plan import shared_fed_plan
from .unit import shared_fed_unit

__all__ = ["pose", "shared_fed_kernel"]

#: Name in messages.
USER = "gemm with hgmma"


def shared_fed_kernel(config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``gemm`` for a machine whose tensor units read shared memory."""
    shared_fed_unit(config, USER)
    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(config: MachineConfig, rng: np.random.Generator, **options) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    `config` has such tensor units; options are those of `product.pose_product`.
    """
    plan = shared_fed_plan(config)
    problem, product = pose_tensor_product(rng, plan.tensor, USER, **options)
    return replace(problem, defines=plan.defines), product
