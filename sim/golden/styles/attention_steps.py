"""Parts of the golden models of attention that do not depend on the unit that multiplies."""

from collections.abc import Callable

import numpy as np

from ....hw.isa.operations import SpecialOperation
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.weight_scale import WeightScale
from ..arith.float32 import fused, special
from ..matrix.systolic.systolic import read_out

__all__ = [
    "MINUS_INFINITY",
    "each_head",
    "exponents",
    "factors",
    "finished",
    "keys_seen",
    "limit_of",
    "powers_of",
    "rising",
]

LARGEST = np.finfo(np.float32).max
LN_2 = np.float32(np.log(2))
MINUS_INFINITY = np.float32(-np.inf)


def each_head(
    problem: AttentionProblem, q, k, v, head: Callable[..., tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE of all heads; ``head(q, k, v)`` returns those of one."""
    heads = [
        head(q[number], k[number // problem.group], v[number // problem.group])
        for number in range(problem.problems)
    ]
    o, lse = (np.stack(parts) for parts in zip(*heads, strict=True))
    return o, lse


def keys_seen(problem: AttentionProblem, rows: np.ndarray) -> np.ndarray:
    """Return the number of keys that each query attends to."""
    if not problem.causal:
        return np.full(len(rows), problem.keys)
    return np.clip(rows + 1 + problem.keys - problem.queries, 0, problem.keys)


def rising(old, new, scale, weights: WeightScale) -> np.ndarray:
    """Return the new maxima where they exceed the old ones by more than the lag."""
    return np.where((new - old) * scale > np.float32(weights.lag), new, old)


def limit_of(weights: WeightScale) -> np.float32:
    """Return the sum of powers with an old maximum above which a new one replaces it."""
    return np.float32(2.0**weights.limit)


def factors(old, maximum, scale) -> np.ndarray:
    """Return the factors of older sums."""
    safe = np.where(maximum == MINUS_INFINITY, np.float32(0), maximum)
    return special(SpecialOperation.EXP2, (old - safe) * scale)


def shift_of(maximum, scale, weights: WeightScale) -> np.ndarray:
    """Return the shift of exponents: the negative maximum and bias."""
    return -fused(maximum, scale, np.full_like(maximum, weights.bias))


def powers_of(maximum, scores, scale, weights: WeightScale) -> np.ndarray:
    """Return the powers of scores; without a maximum, any score above -infinity has infinity."""
    shift = np.where(maximum == MINUS_INFINITY, LARGEST, shift_of(maximum, scale, weights))
    return special(SpecialOperation.EXP2, fused(scores, scale, shift[:, None]))


def exponents(old, maximum, scores, scale, weights: WeightScale) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of older sums, and the powers of scores with their row's maximum."""
    safe = np.where(maximum == MINUS_INFINITY, np.float32(0), maximum)
    shift = shift_of(safe, scale, weights)
    powers = special(SpecialOperation.EXP2, fused(scores, scale, shift[:, None]))
    return factors(old, maximum, scale), powers


def finished(
    problem: AttentionProblem, maximum, sums, o, weights: WeightScale, *, adds_zero: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return O divided by the sums in the format of the operands, and LSE.

    If a unit divides O by scaling its rows, it adds a product of zeros, which changes -0.
    """
    inverse = special(SpecialOperation.RCP, sums)
    o = o * np.where(sums == 0, np.float32(0), inverse)[:, None]
    if adds_zero:
        o = o + np.float32(0)
    exponent = fused(maximum, problem.scale_log2, special(SpecialOperation.LOG2, sums))
    if weights.bias:
        exponent = exponent + np.float32(weights.bias)
    return read_out(o, problem.operand), read_out(exponent * LN_2, "fp32")
