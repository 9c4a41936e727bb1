"""Problem of the product for the cores: one thread commands DMA and matrix unit."""

import dataclasses

import numpy as np

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...hw.config.arithmetic import ARITHMETIC
from ..elements import NATIVE
from ..kernel import Buffer, Kernel, Problem
from .data import operands
from .plan import default_tile
from .problem import GemmProblem
from .reference import reference
from .target import systolic_unit

__all__ = ["WIDE", "command_depth", "cores_kernel", "pose", "with_bits"]

#: Option bit of the program: C has the accumulator's format.
WIDE = 2


def cores_kernel(config: ClusterConfig, **options) -> Kernel:
    """Return the kernel ``gemm`` for the cores of a machine with a matrix unit.

    Results are compared with the float64 reference; `sim.run.exact_kernels` adds the exact check.
    Options are those of `pose`.
    """
    systolic_unit(config, "gemm on cores")

    def posed(rng: np.random.Generator, **sizes: int) -> Problem:
        return pose(config, rng, **sizes, **options)[0]

    return Kernel(name="gemm", dimensions=("m", "n", "k"), pose=posed)


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
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    Parameters
    ----------
    config : ClusterConfig
        A machine with a matrix unit.
    rng : Generator
        Generator of the operands.
    m, n, k : int
        Sizes.
    c_format : str or None
        Format of C; None for the narrow one of the operands.
    data : str
        Kind of operands, one of `data.KINDS`.
    given : tuple of ndarray or None
        A and B in the form of `kernels.elements`, in place of generated data.
    gaps : tuple of int
        Unused elements at the end of each row of A, B and C.

    """
    matrix = systolic_unit(config)
    c_format = c_format or ARITHMETIC[matrix.operand].narrow
    if c_format not in NATIVE:
        raise UserError(f"C must have one of the formats {', '.join(NATIVE)}, not {c_format}")
    pitches = [size + gap for size, gap in zip((k, n, n), gaps, strict=True)]
    try:
        problem = GemmProblem.placed(
            **{"m": m, "n": n, "k": k, "operand": matrix.operand, "c_format": c_format},
            **dict(zip(("a_pitch", "b_pitch", "c_pitch"), pitches, strict=True)),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(str(error)) from None
    a, b = given or operands(problem, data, int(rng.integers(1 << 32)))
    values, bound = reference(problem, a, b, matrix.rows)
    before = np.full((m, pitches[2]), -1, problem.dtype("c"))
    expected, bounds = before.astype(np.float64), np.zeros(before.shape)
    expected[:, :n], bounds[:, :n] = values, bound
    buffers = {
        "a": Buffer(data=widened(a, pitches[0])),
        "b": Buffer(data=widened(b, pitches[1])),
        "c": Buffer(data=before, expected=expected, bound=bounds),
    }
    wide = c_format == ARITHMETIC[matrix.operand].accumulator
    arguments = (m, n, k, "a", "b", "c", *pitches, WIDE if wide else 0)
    posed = Problem(
        buffers=buffers,
        arguments=arguments,
        operations=2 * problem.macs,
        macs=(problem.macs,),
        formats={"a": matrix.operand, "b": matrix.operand, "c": c_format},
        data="given" if given else data,
    )
    return posed, problem


def command_depth(config: ClusterConfig, *, is_finished: bool = False) -> int:
    """Return the elements along K of the program's computes, `GEMM_K` of ``gemm.h``.

    If `is_finished`, the cores finish C, and a tile of C occupies part of shared memory.
    """
    matrix = systolic_unit(config)
    m, n, wanted = default_tile(config)
    if matrix.b_bytes > matrix.columns * matrix.operand_bytes:
        n = matrix.columns
    if matrix.a_bytes > matrix.rows * matrix.operand_bytes:
        wanted = matrix.rows
    a_block = m * matrix.a_bytes
    b_block = matrix.rows * (n // matrix.columns) * matrix.b_bytes
    room = config.shared.size
    a_room = room // 2
    if is_finished:
        room -= m * n * matrix.wide_bytes
        a_room = room // (a_block + b_block) * a_block // matrix.b_bytes * matrix.b_bytes
    tiles = min(a_room // 2 // a_block, (room - a_room) // 2 // b_block)
    return min(wanted, tiles * matrix.rows)


def widened(matrix: np.ndarray, pitch: int) -> np.ndarray:
    """Return a matrix in rows of `pitch` elements; the padding has all bits set, a NaN."""
    rows, columns = matrix.shape
    wide = np.full((rows, pitch * matrix.itemsize), 0xFF, np.uint8).view(matrix.dtype)
    wide[:, :columns] = matrix
    return wide


def with_bits(problem: Problem, c: np.ndarray, name: str = "c") -> Problem:
    """Return a problem whose C must equal `c` bit for bit, with unchanged row gaps."""
    buffer = problem.buffers[name]
    bits = buffer.data.copy()
    bits[:, : c.shape[1]] = c
    exact = dataclasses.replace(buffer, bits=bits)
    return dataclasses.replace(problem, buffers={**problem.buffers, name: exact})
