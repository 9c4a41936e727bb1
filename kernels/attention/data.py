"""Operands of attention: random values, large scores, equal scores, and corner cases."""

import numpy as np

from ..elements import nearest
from ..gemm.data import make_extreme
from .problem import AttentionProblem

__all__ = ["KINDS", "Operands", "operands"]

KINDS = ("random", "large", "zeros", "extreme")
#: Factor of Q and K with large scores.
LARGE = 8.0

Operands = tuple[np.ndarray, np.ndarray, np.ndarray]


def operands(problem: AttentionProblem, kind: str, seed: int) -> Operands:
    """Return Q, K and V in the form of `kernels.elements`, padded to the depth of the program.

    ``random``: normal deviates. ``large``: scores of some hundreds, with magnitudes that grow with
    the key, so that the maximum of a row changes often and most weights are 0. ``zeros``: Q and K
    are 0, so that all visible keys have the same weight. ``extreme``: rows of Q with subnormals,
    signed zeros, values near overflow, infinities and NaN; finite extremes in some keys; an
    infinity and a NaN in two columns of V.
    """
    if kind not in KINDS:
        raise ValueError(f"data must be one of {', '.join(KINDS)}, not {kind!r}")
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal(problem.shapes[name], dtype=np.float32) for name in "qkv")
    if kind == "zeros":
        q, k = 0 * q, 0 * k
    elif kind == "large":
        ramp = np.linspace(1 / problem.keys, 1, problem.keys, dtype=np.float32)
        q, k = q * LARGE, k * ramp[:, None] * LARGE
    q, k, v = (nearest(values, problem.operand) for values in (q, k, v))
    if kind == "extreme":
        make_extreme(q.reshape(-1, problem.depth), problem.operand, rng)
        add_extremes(problem, k, v, rng)
    for array in (q, k, v):
        array[..., problem.head_depth :] = 0
    return q, k, v


def add_extremes(
    problem: AttentionProblem, k: np.ndarray, v: np.ndarray, rng: np.random.Generator
) -> None:
    """Replace some keys by finite extremes, and an element of two columns of V by specials."""
    factors = np.array([0.0, -0.0, 2.0**-20, 64.0, -64.0])
    heads = np.arange(len(k))
    for factor in factors:
        key = rng.integers(0, problem.keys, len(k))
        values = factor * rng.standard_normal((len(k), problem.depth))
        k[heads, key] = nearest(values, problem.operand)
    key = rng.integers(0, problem.keys, 2)
    for special, row, column in zip((np.inf, np.nan), key, (0, 1), strict=True):
        v[-1, row, column] = special_element(special, problem.operand)


def special_element(value: float, operand: str):
    """Return infinity or NaN in a format."""
    if operand == "bf16":
        return np.float32(value).view(np.uint32) >> np.uint32(16)
    return value
