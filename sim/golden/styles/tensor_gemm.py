"""Golden model of a whole product on tensor units of either style, bit-exact."""

import numpy as np

from ....hw.config import TensorUnitConfig
from ....kernels.gemm.problem import GemmProblem
from ..matrix.systolic.systolic import read_out
from .tensor_product import matrix_product

__all__ = ["tensor_gemm"]

#: Rows that are computed at a time.
ROWS = 64


def tensor_gemm(
    tensor: TensorUnitConfig, problem: GemmProblem, a, b, depth: None = None
) -> np.ndarray:
    """Return C as a chain of instructions computes it: from +0, k ascending, padded with zeros.

    Parameters
    ----------
    tensor : TensorUnitConfig
        Numerics and operand format of the instructions.
    problem : GemmProblem
        The product to compute.
    a, b : ndarray
        Its operands, in the form of `kernels.elements`.
    depth : None
        Tensor units get no commands; the depth of an instruction is that of `tensor`.

    """
    pad = -problem.k % tensor.depth
    left, right = (
        np.pad(np.ascontiguousarray(x).view(f"u{x.itemsize}"), pads)
        for x, pads in ((a, ((0, 0), (0, pad))), (b, ((0, pad), (0, 0))))
    )
    parts = []
    for first in range(0, problem.m, ROWS):
        rows = left[first : first + ROWS]
        zeros = np.zeros((len(rows), problem.n), np.uint32)
        parts.append(matrix_product(rows, right, zeros, tensor))
    c = np.concatenate(parts).view(np.float32)
    # Accumulators are stored as they are, with the NaN of their numerics.
    return c if problem.c_format == "fp32" else read_out(c, problem.c_format)
