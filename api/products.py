"""Products of arrays: their batch, their epilogue, and elements in the formats of the unit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import UserError
from ..hw.config.arithmetic import ARITHMETIC
from ..hw.config.checks import require_choice
from ..kernels.elements import dtype_of
from ..sim.run.inputs.arrays import ArrayError, as_elements, as_numbers, type_of

__all__ = ["Batch", "Product", "products_of", "result_of"]

#: Kernels of products with a bias, by activation.
BIAS_KERNELS = {None: "gemm_bias", "relu": "gemm_bias_relu", "gelu": "gemm_bias_gelu"}


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product: operands as `kernels.elements` holds them, and the data of its epilogue.

    Parameters
    ----------
    given : tuple of ndarray
        A and B.
    epilogue : dict
        Further options of its kernel.
    c_format : str
        Format of the result.

    """

    given: tuple[np.ndarray, np.ndarray]
    epilogue: dict[str, Any]
    c_format: str

    @property
    def sizes(self) -> dict[str, int]:
        """Its sizes by dimension."""
        a, b = self.given
        return {"m": a.shape[0], "n": b.shape[1], "k": a.shape[1]}

    @property
    def options(self) -> dict[str, Any]:
        """Options of its kernel."""
        return {"given": self.given, "c_format": self.c_format, **self.epilogue}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Products of one call, in the order of the result; none if it is empty.

    Parameters
    ----------
    kernel : str
        Kernel that computes each.
    products : list of Product
        The products.
    shape : tuple of int
        Shape of the result.
    c_format : str
        Format of the result.

    """

    kernel: str
    products: list[Product]
    shape: tuple[int, ...]
    c_format: str


def products_of(
    operand: str,
    a: np.ndarray,
    b: np.ndarray,
    *,
    bias: np.ndarray | None = None,
    activation: str | None = None,
    add: np.ndarray | None = None,
    c_format: str | None = None,
) -> Batch:
    """Return the products of two arrays on a unit with operands of a format.

    Arguments are those of `Machine.matmul`; raise `UserError` if they do not fit each other.
    """
    a, b = as_numbers("a", a), as_numbers("b", b)
    dropped = [axis for axis, x in ((-2, a), (-1, b)) if x.ndim == 1]
    a, b = as_factor("a", a, 0), as_factor("b", b, 1)
    if a.shape[-1] != b.shape[-2]:
        raise UserError(
            f"a must have as many columns as b has rows, not {a.shape[-1]} and {b.shape[-2]}"
        )
    shape = (*common_shape(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    outer = tuple(n for axis, n in enumerate(shape, -len(shape)) if axis not in dropped)
    c_format = chosen_format(operand, c_format)
    kernel, given = epilogue_of(shape, c_format, bias, activation, add)
    added = added_of(add, outer, c_format)
    a, b = as_elements(a, operand, "a"), as_elements(b, operand, "b")
    if not a.shape[-1]:  # a product over nothing is that of zeros
        a, b = (
            np.zeros((*a.shape[:-1], 1), a.dtype),
            np.zeros((*b.shape[:-2], 1, shape[-1]), b.dtype),
        )
    parts = matrices(a, b, shape, added if added is None else added.reshape(shape))
    products = [
        Product(given=(x, y), epilogue=given | more, c_format=c_format)
        for x, y, more in (parts if math.prod(shape) else ())
    ]
    return Batch(kernel=kernel, products=products, shape=outer, c_format=c_format)


def result_of(batch: Batch, results: list[np.ndarray]) -> np.ndarray:
    """Return the result of a call, in the type of its format, from those of its products."""
    elements = np.concatenate(results) if results else np.zeros(0, dtype_of(batch.c_format))
    return elements.reshape(batch.shape).view(type_of(batch.c_format))


def common_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the batch."""
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise UserError(
            f"the batches of a and b must have one shape or broadcast, not {first} and {second}"
        ) from None


def chosen_format(operand: str, c_format: str | None) -> str:
    """Return the format of the result; raise `UserError` if the operands do not have it."""
    formats = ARITHMETIC[operand].c_formats
    try:
        require_choice("c_format", c_format or formats[0], formats)
    except ValueError as error:
        raise UserError(f"{error} with operands in {operand}") from None
    return c_format or formats[0]


def epilogue_of(
    shape: tuple[int, ...],
    c_format: str,
    bias: np.ndarray | None,
    activation: str | None,
    add: np.ndarray | None,
) -> tuple[str, dict[str, Any]]:
    """Return the kernel of a product, and the options that all products of a batch share."""
    if not isinstance(activation, str | None) or activation not in BIAS_KERNELS:
        raise UserError(f"activation must be relu, gelu or None, not {activation!r}")
    if bias is None and activation is None:
        return ("gemm" if add is None else "gemm_add"), {}
    if add is not None:
        raise UserError("a product has add, or bias and activation, not both")
    columns = shape[-1]
    values = np.zeros(columns) if bias is None else as_numbers("bias", bias)
    if values.shape != (columns,):
        raise UserError(f"bias must have the shape ({columns},), not {values.shape}")
    return BIAS_KERNELS[activation], {"bias": as_elements(values, "fp32", "bias")}


def added_of(add: np.ndarray | None, shape: tuple[int, ...], c_format: str) -> np.ndarray | None:
    """Return the added matrix, in the shape and format of the result."""
    if add is None:
        return None
    values = as_numbers("add", add)
    try:
        values = np.broadcast_to(values, shape)
    except ValueError:
        raise UserError(
            f"add must have the shape {shape} or broadcast, not {values.shape}"
        ) from None
    return as_elements(values, c_format, "add")


def matrices(
    a: np.ndarray, b: np.ndarray, shape: tuple[int, ...], add: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, Any]]]:
    """Yield the operands of each product and its `add`: one product if all share B."""
    m, n = shape[-2:]
    batch = shape[:-2]
    if math.prod(b.shape[:-2]) == 1:
        rows = math.prod(batch) * m
        a = np.broadcast_to(a, (*batch, *a.shape[-2:])).reshape(rows, -1)
        yield a, b.reshape(b.shape[-2:]), {} if add is None else {"c": add.reshape(rows, n)}
        return
    a, b = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    for place in np.ndindex(batch):
        more = {} if add is None else {"c": add[place]}
        yield np.ascontiguousarray(a[place]), np.ascontiguousarray(b[place]), more


def as_factor(name: str, array: np.ndarray, axis: int) -> np.ndarray:
    """Return a factor of a product as a batch of matrices; a vector gets the axis `axis`."""
    if not array.ndim:
        raise ArrayError(
            f"{name} must be a matrix of numbers, a vector or a batch of matrices, not one number"
        )
    return np.expand_dims(array, axis) if array.ndim == 1 else array
