"""Attention of arrays: heads of a batch, elements in the unit's format, and results."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.errors import UserError
from ..kernels.attention.data import Operands
from ..sim.run.inputs.arrays import ArrayError, as_elements, as_numbers, type_of

__all__ = ["Attention", "Heads", "attention_of", "heads_of"]


class Attention(NamedTuple):
    """Results of attention.

    Attributes
    ----------
    o : ndarray
        Averages of V, in the shape of Q and the unit's format.
    lse : ndarray
        Logarithm of each query's sum of exponentials, in FP32 and the shape of Q without its last
        dimension.

    """

    o: np.ndarray
    lse: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Heads:
    """Operands of a call, with all heads of the batch in the first dimension.

    Parameters
    ----------
    given : tuple of ndarray
        Q, K and V as `kernels.elements` holds them.
    sizes : dict
        Sizes of the kernel.
    operand : str
        Format of the operands.
    shape : tuple of int
        Shape of O.

    """

    given: Operands
    sizes: dict[str, int]
    operand: str
    shape: tuple[int, ...]


def heads_of(operand: str, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Heads:
    """Return the operands of `Machine.attention`; raise `UserError` if they do not fit."""
    arrays = {name: as_matrices(name, x) for name, x in (("q", q), ("k", k), ("v", v))}
    q, k, v = arrays.values()
    for name, array in arrays.items():
        if array.ndim > 4 or array.ndim != q.ndim:
            raise UserError(
                f"q, k and v must all have 2, 3 or 4 dimensions, and {name} has {array.ndim}"
            )
    if k.shape != v.shape:
        raise UserError(f"k and v must have one shape, not {k.shape} and {v.shape}")
    if k.shape[-1] != q.shape[-1]:
        raise UserError(f"q and k must have as many columns, not {q.shape[-1]} and {k.shape[-1]}")
    (batch, heads), (kv_batch, kv_heads) = ((1, 1, *x.shape[:-2])[-2:] for x in (q, k))
    if kv_batch != batch:
        raise UserError(f"q and k must have the same batch, not {batch} and {kv_batch}")
    if heads % kv_heads:
        raise UserError(f"the heads of k must divide those of q, {heads}, not {kv_heads}")
    elements = (as_elements(x, operand, name) for name, x in arrays.items())
    flat = (x.reshape(-1, *x.shape[-2:]) for x in elements)
    flat_q, flat_k, flat_v = map(np.ascontiguousarray, flat)
    return Heads(
        given=(flat_q, flat_k, flat_v),
        sizes={
            **{"queries": q.shape[-2], "depth": q.shape[-1], "keys": k.shape[-2]},
            **{"heads": heads, "kv_heads": kv_heads, "batch": batch},
        },
        operand=operand,
        shape=q.shape,
    )


def attention_of(heads: Heads, o: np.ndarray, lse: np.ndarray) -> Attention:
    """Return the results of a call in the shapes of its arrays."""
    return Attention(
        o=o.reshape(heads.shape).view(type_of(heads.operand)), lse=lse.reshape(heads.shape[:-1])
    )


def as_matrices(name: str, array: np.ndarray) -> np.ndarray:
    """Return a non-empty array of matrices of numbers; raise `UserError` for anything else."""
    numbers = as_numbers(name, array)
    if numbers.ndim < 2 or not numbers.size:
        raise ArrayError(
            f"{name} must be a matrix of numbers with at least one element, or a batch of them, "
            f"not {numbers.dtype} of shape {numbers.shape}"
        )
    return numbers
