"""Problem of a product on the tensor units: plain matrices, and operands as fragments."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....hw.config import MachineConfig
from ....hw.config.checks import require_choice
from ...kernel import Buffer, Kernel, Problem
from ..problem import GemmProblem
from ..product import stored_operands
from ..tensor_product import pose_tensor_product
from .arrange import arranged_a, arranged_b
from .plan import FRAGMENT_BYTES, register_fed_plan
from .unit import register_fed_unit

__all__ = ["ARRANGEMENTS", "pose", "register_fed_kernel"]

#: Name in messages.
USER = "gemm on tensor units"
#: Where operands get the order of fragments.
ARRANGEMENTS = ("outside", "inside")
#: Option bit of the program: it arranges the operands.
ARRANGE = 4


def register_fed_kernel(config: MachineConfig, posed: Callable[..., Problem]) -> Kernel:
    """Return the kernel ``gemm`` for the cores of a machine with tensor units."""
    register_fed_unit(config, USER)
    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(
    config: MachineConfig, rng: np.random.Generator, *, arrangement: str = "outside", **options
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    Parameters
    ----------
    config : MachineConfig
        A machine with tensor units.
    rng : Generator
        Generator of the operands.
    arrangement : str
        Where the operands are arranged as fragments: ``outside`` the measured region, in the
        initial data, or ``inside``, by the program.
    options
        Options of `product.pose_product`.

    """
    require_choice("arrangement", arrangement, ARRANGEMENTS)
    tensor, plan = register_fed_unit(config), register_fed_plan(config)
    problem, product = pose_tensor_product(rng, tensor, USER, **options)
    a, b = stored_operands(problem, product)
    rest = plan.steps * FRAGMENT_BYTES // 4
    arranged = {
        "a_fragments": fragments(arranged_a(a, plan), arrangement, rest),
        "b_fragments": fragments(arranged_b(b, plan), arrangement, rest),
    }
    *arguments, flags = problem.arguments
    assert isinstance(flags, int)
    flags |= ARRANGE if arrangement == "inside" else 0
    posed = replace(
        problem,
        buffers={**problem.buffers, **arranged},
        arguments=(*arguments, flags, *arranged),
        arrangement=arrangement,
        defines=(*plan.defines, f"TENSOR_ARRANGE={ARRANGE}"),
    )
    return posed, product


def fragments(panels: np.ndarray, arrangement: str, rest: int) -> Buffer:
    """Return the buffer of an operand as fragments, with `rest` words after the last panel.

    Cores copy whole tiles, so they read beyond a panel that ends with fewer steps. Arranged inside,
    the words of panels are all ones before.
    """
    words = np.pad(panels.ravel(), (0, rest))
    if arrangement == "outside":
        return Buffer(data=words)
    before = np.full_like(words, 0xFFFF_FFFF)
    before[len(words) - rest :] = 0
    return Buffer(data=before, expected=words.astype(np.float64), golden=lambda: words)
