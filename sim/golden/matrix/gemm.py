"""Golden model of a whole matrix product on a machine, bit-exact."""

import numpy as np

from ....hw.config import SystolicConfig
from ....kernels.gemm.problem import GemmProblem
from .systolic.systolic import read_out, systolic_os, systolic_ws

__all__ = ["gemm", "slab"]


def slab(matrix: SystolicConfig, depth: int) -> int:
    """Return the number of products summed in one chain before they reach the accumulator.

    For a weight-stationary array, its rows; for an output-stationary one, the K extent `depth` of
    a command.
    """
    return matrix.rows if matrix.dataflow == "weight_stationary" else depth


def gemm(matrix: SystolicConfig, problem: GemmProblem, a, b, depth: int) -> np.ndarray:
    """Return C as the matrix unit's numerics define it.

    Parameters
    ----------
    matrix : SystolicConfig
        The matrix unit.
    problem : GemmProblem
        The product to compute.
    a, b : ndarray
        Its operands.
    depth : int
        Elements along K of a command; only matters for an output-stationary array.

    """
    multiply = {"weight_stationary": systolic_ws, "output_stationary": systolic_os}
    length = slab(matrix, depth)
    total = multiply[matrix.dataflow](a, b, length, operand=problem.operand)
    return read_out(total, problem.c_format, relu=problem.relu, scale=problem.scale)
