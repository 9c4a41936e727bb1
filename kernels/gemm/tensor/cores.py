"""Problem of a product on the tensor units: plain matrices, and operands as fragments."""

from pathlib import Path

import numpy as np

from ....hw.base.errors import UserError
from ....hw.config import ClusterConfig
from ....hw.config.arithmetic import ARITHMETIC
from ....hw.config.checks import require_choice
from ...elements import NATIVE
from ...kernel import Buffer, Kernel, Problem
from ..cores import WIDE, widened
from ..data import operands
from ..problem import GemmProblem
from ..target import tensor_unit
from .arrange import arranged_a, arranged_b
from .plan import FRAGMENT_BYTES, tensor_plan
from .reference import reference

__all__ = ["ARRANGEMENTS", "OPERANDS", "pose", "tensor_kernel"]

#: Operand formats of the program.
OPERANDS = ("fp16", "fp32")
#: Where operands get the order of fragments.
ARRANGEMENTS = ("outside", "inside")
#: Option bit of the program: it arranges the operands.
ARRANGE = 4


def tensor_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return the kernel ``gemm`` for the cores of a machine with tensor units.

    Options are those of `pose`.
    """
    tensor_unit(config, "gemm on tensor units")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        return pose(config, rng, **sizes, **options)[0]

    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed, folder=Path(__file__).parent)


def pose(
    config: ClusterConfig,
    rng: np.random.Generator,
    *,
    m: int,
    n: int,
    k: int,
    c_format: str | None = None,
    data: str = "random",
    given: tuple[np.ndarray, np.ndarray] | None = None,
    gaps: tuple[int, int, int] = (0, 0, 0),
    arrangement: str = "outside",
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    Parameters
    ----------
    config : ClusterConfig
        A machine with tensor units.
    rng : Generator
        Generator of the operands.
    m, n, k : int
        Sizes.
    c_format : str or None
        Format of C; None for the narrow one of the operands.
    data : str
        Kind of operands, one of `gemm.data.KINDS`.
    given : tuple of ndarray or None
        A and B in the form of `kernels.elements`, in place of generated data.
    gaps : tuple of int
        Unused elements at the end of each row of A, B and C.
    arrangement : str
        Where the operands are arranged as fragments: ``outside`` the measured region, in the
        initial data, or ``inside``, by the program.

    """
    require_choice("arrangement", arrangement, ARRANGEMENTS)
    tensor, plan = tensor_unit(config), tensor_plan(config)
    if tensor.operand not in OPERANDS:
        raise UserError(
            f"operands of gemm on tensor units must be {' or '.join(OPERANDS)}, "
            f"not {tensor.operand}"
        )
    c_format = c_format or ARITHMETIC[tensor.operand].narrow
    if c_format not in NATIVE:
        raise UserError(f"C must have one of the formats {', '.join(NATIVE)}, not {c_format}")
    pitches = [size + gap for size, gap in zip((k, n, n), gaps, strict=True)]
    try:
        problem = GemmProblem.placed(
            **{"m": m, "n": n, "k": k, "operand": tensor.operand, "c_format": c_format},
            **dict(zip(("a_pitch", "b_pitch", "c_pitch"), pitches, strict=True)),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(str(error)) from None
    a, b = given or operands(problem, data, int(rng.integers(1 << 32)))
    values, bound = reference(problem, tensor, a, b)
    before = np.full((m, pitches[2]), -1, problem.dtype("c"))
    expected, bounds = before.astype(np.float64), np.zeros(before.shape)
    expected[:, :n], bounds[:, :n] = values, bound
    rest = plan.steps * FRAGMENT_BYTES // 4
    buffers = {
        "a": Buffer(data=widened(a, pitches[0])),
        "b": Buffer(data=widened(b, pitches[1])),
        "c": Buffer(data=before, expected=expected, bound=bounds),
        "a_fragments": fragments(arranged_a(a, plan), arrangement, rest),
        "b_fragments": fragments(arranged_b(b, plan), arrangement, rest),
    }
    wide = c_format == ARITHMETIC[tensor.operand].accumulator
    flags = (WIDE if wide else 0) | (ARRANGE if arrangement == "inside" else 0)
    arguments = (m, n, k, "a", "b", "c", *pitches, flags)
    posed = Problem(
        buffers=buffers,
        arguments=(*arguments, "a_fragments", "b_fragments"),
        operations=2 * problem.macs,
        tensor_macs=problem.macs,
        formats={"a": tensor.operand, "b": tensor.operand, "c": c_format},
        data="given" if given else data,
        arrangement=arrangement,
    )
    return posed, problem


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
    return Buffer(data=before, expected=words.astype(np.float64), bits=words)
