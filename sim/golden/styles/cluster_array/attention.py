"""Golden model of attention on a systolic matrix unit: order of operations of unit and cores."""

from functools import partial

import numpy as np

from .....hw.config import MachineConfig
from .....hw.config.systolic import SystolicConfig
from .....kernels.attention.cluster_array.plan import KEYS, AttentionPlan, attention_plan
from .....kernels.attention.problem import AttentionProblem
from .....kernels.attention.weight_scale import WeightScale, weight_scale
from .....kernels.gemm.target import systolic_unit
from ...arith.float32 import fused
from ...matrix.systolic.systolic import read_out, systolic_ws
from ..attention_steps import (
    MINUS_INFINITY,
    each_head,
    exponents,
    finished,
    keys_seen,
    limit_of,
    powers_of,
)

__all__ = ["attention"]


def attention(
    config: MachineConfig, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE as the program ``kernels/attention/cluster_array`` computes them.

    Parameters
    ----------
    config : MachineConfig
        A machine with a systolic array.
    problem : AttentionProblem
        Its operand format is that of the array.
    q, k, v : ndarray
        Heads of Q, [problems, queries, depth], and of K and V, [problems // group, keys, depth], in
        the form of `kernels.elements`.

    """
    matrix, plan = systolic_unit(config), attention_plan(config, problem.depth)
    return each_head(problem, q, k, v, partial(head, matrix, plan, problem))


def head(
    matrix: SystolicConfig, plan: AttentionPlan, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE of one head; each row of a block of queries has the same steps."""
    rows = np.arange(problem.queries)
    seen = keys_seen(problem, rows)
    last = np.minimum(rows // plan.rows * plan.rows + plan.rows, problem.queries) - 1
    end = np.maximum(seen[last], 1)
    maximum = np.full(len(rows), MINUS_INFINITY)
    sums = np.zeros((len(rows), plan.parts), np.float32)
    o = np.zeros((len(rows), problem.depth), np.float32)
    lazy, weights = plan.parts if matrix.operand_bytes < 4 else None, weight_scale(matrix)
    with np.errstate(all="ignore"):
        for first in range(0, problem.keys, KEYS):
            used = np.nonzero(end > first)[0]
            block = slice(first, min(first + KEYS, problem.keys))
            scores = masked_scores(matrix, q[used], k[block], seen[used] - first)
            old, scale = maximum[used], problem.scale_log2
            maximum[used] = new_maxima(old, scores, scale, weights, lazy, is_first=first == 0)
            factor, powers = exponents(old, maximum[used], scores, scale, weights)
            sums[used] = fused(sums[used], factor[:, None], part_sums(powers, plan.parts))
            replaces = first == 0 or problem.overwrites
            before = None if replaces else o[used] * factor[:, None]
            p = read_out(powers[:, : block.stop - first], problem.operand)
            o[used] = systolic_ws(p, v[block], matrix.rows, before, operand=matrix.operand)
        total = part_sums(sums, 1)[:, 0]
        return finished(problem, maximum, total, o, weights, adds_zero=True)


def masked_scores(matrix: SystolicConfig, q, k, seen) -> np.ndarray:
    """Return the scores of a block of `KEYS` keys, -infinity for keys that a query skips."""
    scores = np.full((len(q), KEYS), MINUS_INFINITY)
    scores[:, : len(k)] = systolic_ws(
        np.ascontiguousarray(q), np.ascontiguousarray(k.T), matrix.rows, operand=matrix.operand
    )
    return np.where(np.arange(KEYS) < seen[:, None], scores, MINUS_INFINITY)


def new_maxima(
    old, scores, scale, weights: WeightScale, parts: int | None, *, is_first: bool
) -> np.ndarray:
    """Return the maxima of rows after a block.

    With `parts`, a maximum changes only if the powers with the old one have a sum above the limit
    in any of so many parts of the block, or NaN. In the first block, the old one is that of the
    first part. If it is -infinity, any power that is not 0 changes it.
    """
    new = np.fmax(old, np.fmax.reduce(scores, axis=1))
    if parts is None:
        return new
    if is_first:
        old = np.fmax(old, np.fmax.reduce(scores[:, : scores.shape[1] // parts], axis=1))
    unset = old == MINUS_INFINITY
    powers = powers_of(old, scores, scale, weights)
    within = part_sums(powers, parts) <= np.where(unset, np.float32(0), limit_of(weights))[:, None]
    return np.where(within.all(axis=1), old, new)


def part_sums(powers: np.ndarray, parts: int) -> np.ndarray:
    """Return the sums of equal parts of each row, in the order of the columns."""
    groups = powers.reshape(len(powers), parts, -1)
    total = groups[..., 0]
    for key in range(1, groups.shape[2]):
        total = total + groups[..., key]
    return total
