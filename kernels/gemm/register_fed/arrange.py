"""Operands in the order of fragments, as shared memory holds them.

A panel is 8 rows of A or 8 columns of B: for each instruction along k eight registers, each a word
of every lane. Lane l of a panel of A has row l. Two panels of B share 16 columns: one has the even,
the other the odd ones, so that results of neighbouring columns are in one lane. The panels of B of
a tile are all even ones, then all odd ones. Matrices are padded with zeros to whole tiles.
"""

import numpy as np

from .plan import BLOCK, RegisterFedPlan

__all__ = ["arranged_a", "arranged_b"]


def arranged_a(a: np.ndarray, plan: RegisterFedPlan) -> np.ndarray:
    """Return A, in stored elements, as panels of words (panels, steps, registers, lanes)."""
    per_word = plan.depth // BLOCK
    padded = with_zeros(a, plan.m, plan.depth)
    panels = padded.reshape(len(padded) // BLOCK, BLOCK, -1, BLOCK, per_word)
    return words(panels.transpose(0, 2, 3, 1, 4))


def arranged_b(b: np.ndarray, plan: RegisterFedPlan) -> np.ndarray:
    """Return B in the same way."""
    per_word = plan.depth // BLOCK
    padded = with_zeros(b, plan.depth, plan.n)
    shape = (-1, BLOCK, per_word, padded.shape[1] // plan.n, plan.across, BLOCK, 2)
    panels = padded.reshape(shape).transpose(3, 6, 4, 0, 1, 5, 2)
    return words(panels.reshape(-1, *panels.shape[3:]))


def with_zeros(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return a matrix with zeros up to multiples of `rows` and `columns`."""
    pads = [(0, -size % unit) for size, unit in zip(matrix.shape, (rows, columns), strict=True)]
    return np.pad(matrix, pads)


def words(elements: np.ndarray) -> np.ndarray:
    """Return the words of the elements along the last axis, the first in the lowest bits."""
    packed = np.ascontiguousarray(elements).view(np.uint32)
    return np.ascontiguousarray(packed[..., 0])
