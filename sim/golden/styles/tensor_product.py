"""Golden model of the product of a tensor unit, and of the places of its numbers in registers."""

import numpy as np

from ....hw.arith.dot_product.config import DotProductConfig
from ....hw.config.tensor import TensorNumerics
from ..arith.dot_product.dot_product import dot_product

__all__ = ["THREADS", "matrix_product", "placed"]

#: Threads of the warps whose registers hold the tiles of ``hgmma``, and by default of ``hmma``.
THREADS = 8

#: Default: FP16, rounded as in Virgo.
VIRGO = TensorNumerics()


def placed(numbers: np.ndarray, places, shape: tuple[int, int]) -> np.ndarray:
    """Return a matrix with these numbers at their places."""
    matrix = np.zeros((*numbers.shape[: numbers.ndim - places[0].ndim], *shape), np.uint32)
    matrix[..., places[0], places[1]] = numbers
    return matrix


def matrix_product(a, b, c, config: TensorNumerics = VIRGO) -> np.ndarray:
    """Return ``a @ b + c``: for each element a chain of dot products, k ascending."""
    a, b, total = np.asarray(a), np.asarray(b), np.asarray(c, np.uint32)
    dot = DotProductConfig.of(config)
    shape = (*total.shape, dot.terms)
    for k in range(0, a.shape[-1], dot.terms):
        left = a[..., :, None, k : k + dot.terms]
        right = np.swapaxes(b[..., k : k + dot.terms, :], -1, -2)[..., None, :, :]
        rows, columns = (np.broadcast_to(x, shape).reshape(-1, dot.terms) for x in (left, right))
        total = dot_product(dot, rows, columns, total.ravel()).reshape(total.shape)
    return total
