"""Problem of a product for programs, whichever unit multiplies: operands, C and its bound."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ...hw.config.arithmetic import ARITHMETIC
from ...hw.isa.commands import encode, loop_control
from ..elements import NATIVE, values_of
from ..kernel import Buffer, Problem
from .data import operands
from .problem import GemmProblem

__all__ = [
    "WIDE",
    "Reference",
    "pose_product",
    "stored_operands",
    "wide_problem",
    "widened",
    "with_gaps",
    "with_golden",
]

#: Option bit of the programs: C has the accumulator's format.
WIDE = encode(loop_control, full_c=1)
#: C in float64 and the bound of each element's error, from a problem, A and B.
Reference = Callable[[GemmProblem, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def pose_product(
    rng: np.random.Generator,
    operand: str,
    reference: Reference,
    *,
    m: int,
    n: int,
    k: int,
    c_format: str | None = None,
    data: str = "random",
    given: tuple[np.ndarray, np.ndarray] | None = None,
    gaps: tuple[int, int, int] = (0, 0, 0),
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    The arguments of the problem are m, n, k, A, B, C, their pitches, and the program's options.

    Parameters
    ----------
    rng : Generator
        Generator of the operands.
    operand : str
        Format of A and B.
    reference : Reference
        Function of the expected C.
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

    """
    c_format = c_format or ARITHMETIC[operand].narrow
    pitches = [size + gap for size, gap in zip((k, n, n), gaps, strict=True)]
    try:
        problem = GemmProblem.placed(
            **{"m": m, "n": n, "k": k, "operand": operand, "c_format": c_format},
            **dict(zip(("a_pitch", "b_pitch", "c_pitch"), pitches, strict=True)),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(str(error)) from None
    a, b = given or operands(problem, data, int(rng.integers(1 << 32)))
    element = problem.dtype("c")
    before = np.full((m, pitches[2] * element.itemsize), 0xFF, np.uint8).view(element)
    expected, bound = with_gaps(before, *reference(problem, a, b), c_format)
    buffers = {
        "a": Buffer(data=widened(a, pitches[0])),
        "b": Buffer(data=widened(b, pitches[1])),
        "c": Buffer(
            data=before,
            expected=expected,
            bound=bound,
            form=None if c_format in NATIVE else c_format,
            permits_overflow=data == "extreme" and given is None,
        ),
    }
    is_wide = c_format == ARITHMETIC[operand].accumulator
    posed = Problem(
        buffers=buffers,
        arguments=(m, n, k, "a", "b", "c", *pitches, WIDE if is_wide else 0),
        operations=2 * problem.macs,
        formats={"a": operand, "b": operand, "c": c_format},
        data="given" if given else data,
    )
    return posed, problem


def wide_problem(product: GemmProblem) -> GemmProblem:
    """Return the product with C in the accumulator's format, without gaps."""
    return GemmProblem.placed(
        **{"m": product.m, "n": product.n, "k": product.k, "operand": product.operand},
        c_format=ARITHMETIC[product.operand].accumulator,
    )


def stored_operands(
    problem: Problem, product: GemmProblem, mark: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B without the gaps between their rows; `mark` ends their names."""
    a, b = (problem.buffers[name + mark].data for name in "ab")
    return a[:, : product.k], b[:, : product.n]


def widened(matrix: np.ndarray, pitch: int) -> np.ndarray:
    """Return a matrix in rows of `pitch` elements; the gaps have all bits set, a NaN."""
    rows, columns = matrix.shape
    wide = np.full((rows, pitch * matrix.itemsize), 0xFF, np.uint8).view(matrix.dtype)
    wide[:, :columns] = matrix
    return wide


def with_gaps(
    before: np.ndarray, value: np.ndarray, bound: np.ndarray, form: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected C of a format and its bound, with the gaps between its rows unchanged."""
    expected = values_of(before, form)
    bounds = np.zeros(before.shape)
    expected[:, : value.shape[1]], bounds[:, : value.shape[1]] = value, bound
    return expected, bounds


def with_golden(problem: Problem, product: Callable[[], np.ndarray], name: str = "c") -> Problem:
    """Return a problem whose C must equal `product()` bit for bit, with unchanged row gaps."""
    buffer = problem.buffers[name]

    def golden() -> np.ndarray:
        bits, c = buffer.data.copy(), product()
        bits[:, : c.shape[1]] = c
        return bits

    exact = dataclasses.replace(buffer, golden=golden)
    return dataclasses.replace(problem, buffers={**problem.buffers, name: exact})
