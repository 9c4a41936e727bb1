"""What a whole matrix product must give on a machine, bit for bit."""

import numpy as np

from ...hw.config import MatrixConfig
from ...kernels.gemm.problem import GemmProblem
from .systolic import read_out, systolic_os, systolic_ws

__all__ = ["gemm", "slab"]


def slab(matrix: MatrixConfig, depth: int) -> int:
    """Return how many products are summed in one chain before they meet the accumulator.

    The rows of a weight-stationary array; the K extent `depth` of a command where the array is
    output-stationary.
    """
    return matrix.rows if matrix.dataflow == "weight_stationary" else depth


def gemm(matrix: MatrixConfig, problem: GemmProblem, a, b, depth: int) -> np.ndarray:
    """Return C as the matrix unit's numerics define it.

    Parameters
    ----------
    matrix : MatrixConfig
        The unit.
    problem : GemmProblem
        What is computed.
    a, b : ndarray
        Its operands.
    depth : int
        Elements along K of a command; it shows only where the array is output-stationary.

    """
    multiply = {"weight_stationary": systolic_ws, "output_stationary": systolic_os}
    length = slab(matrix, depth)
    total = multiply[matrix.dataflow](a, b, length, operand=problem.operand)
    return read_out(total, problem.c_format, relu=problem.relu, scale=problem.scale)
