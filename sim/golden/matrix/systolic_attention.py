"""Golden model of attention on a systolic matrix unit: order of operations of unit and cores."""

import numpy as np

from ....hw.config import ClusterConfig
from ....hw.config.systolic import SystolicConfig
from ....hw.isa.operations import SpecialOperation
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.systolic.plan import KEYS, AttentionPlan, attention_plan
from ....kernels.elements import dtype_of
from ....kernels.gemm.target import systolic_unit
from .gemm_finish import fused, special
from .systolic.systolic import read_out, systolic_ws

__all__ = ["attention"]

#: Maxima of 16-bit operands stay unless new ones exceed them by more, as exponents of 2.
SLACK = np.float32(8)
LN_2 = np.float32(np.log(2))
MINUS_INFINITY = np.float32(-np.inf)


def attention(
    config: ClusterConfig, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE as the program ``kernels/attention/systolic`` computes them.

    Parameters
    ----------
    config : ClusterConfig
        A machine with a systolic array.
    problem : AttentionProblem
        Its operand format is that of the array.
    q, k, v : ndarray
        Heads of Q, [problems, queries, depth], and of K and V, [problems // group, keys, depth], in
        the form of `kernels.elements`.

    """
    matrix, plan = systolic_unit(config), attention_plan(config, problem.depth)
    heads = [
        head(
            matrix,
            plan,
            problem,
            *(x[number // problem.group] if x is not q else x[number] for x in (q, k, v)),
        )
        for number in range(problem.problems)
    ]
    o, lse = (np.stack(each) for each in zip(*heads, strict=True))
    return o, lse


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
    with np.errstate(all="ignore"):
        for first in range(0, problem.keys, KEYS):
            used = np.nonzero(end > first)[0]
            block = slice(first, min(first + KEYS, problem.keys))
            scores = masked_scores(matrix, q[used], k[block], seen[used] - first)
            maximum[used], factor, powers = softmax_step(matrix, problem, maximum[used], scores)
            older = np.broadcast_to(factor[:, None], (len(used), plan.parts))
            sums[used] = fused(sums[used], np.array(older), part_sums(powers, plan.parts))
            before = None if first == 0 else o[used] * factor[:, None]
            p = stored(powers[:, : block.stop - first], problem.operand)
            o[used] = systolic_ws(p, v[block], matrix.rows, before, operand=matrix.operand)
        return finished(problem, maximum, sums, o)


def keys_seen(problem: AttentionProblem, rows: np.ndarray) -> np.ndarray:
    """Return how many keys each query sees; negative for queries before the first key."""
    if not problem.causal:
        return np.full(len(rows), problem.keys)
    return rows + 1 + problem.keys - problem.queries


def masked_scores(matrix: SystolicConfig, q, k, seen) -> np.ndarray:
    """Return the scores of a block of `KEYS` keys, -infinity for keys that a query does not see."""
    scores = np.full((len(q), KEYS), MINUS_INFINITY)
    scores[:, : len(k)] = systolic_ws(
        np.ascontiguousarray(q), np.ascontiguousarray(k.T), matrix.rows, operand=matrix.operand
    )
    return np.where(np.arange(KEYS) < seen[:, None], scores, MINUS_INFINITY)


def softmax_step(matrix: SystolicConfig, problem: AttentionProblem, old, scores):
    """Return the maxima of rows after a block, the factors of older sums, and the powers."""
    scale = problem.scale_log2
    maximum = np.fmax(old, np.fmax.reduce(scores, axis=1))
    if matrix.operand_bytes < 4:
        maximum = np.where((maximum - old) * scale > SLACK, maximum, old)
    safe = np.where(maximum == MINUS_INFINITY, np.float32(0), maximum)
    factor = special(SpecialOperation.EXP2, (old - safe) * scale)
    shift = np.broadcast_to(-(safe * scale)[:, None], scores.shape)
    powers = special(
        SpecialOperation.EXP2, fused(scores, np.full_like(scores, scale), np.array(shift))
    )
    return maximum, factor, powers


def part_sums(powers: np.ndarray, parts: int) -> np.ndarray:
    """Return the sums of each warp's powers, in the order of the keys."""
    each = powers.reshape(len(powers), parts, -1)
    total = each[..., 0]
    for key in range(1, each.shape[2]):
        total = total + each[..., key]
    return total


def stored(values: np.ndarray, form: str) -> np.ndarray:
    """Return FP32 numbers in the format of operands."""
    return read_out(np.ascontiguousarray(values), form).astype(dtype_of(form), copy=False)


def finished(problem: AttentionProblem, maximum, sums, o) -> tuple[np.ndarray, np.ndarray]:
    """Return O divided by the sums in the format of the operands, and LSE."""
    total = sums[:, 0]
    for part in range(1, sums.shape[1]):
        total = total + sums[:, part]
    inverse = np.where(total == 0, np.float32(0), special(SpecialOperation.RCP, total))
    # The unit adds a product of zeros, which changes -0.
    o = o * inverse[:, None] + np.float32(0)
    scale = np.full_like(maximum, problem.scale_log2)
    exponent = fused(maximum, scale, special(SpecialOperation.LOG2, total))
    return stored(o, problem.operand), read_out(exponent * LN_2, "fp32")
