"""Golden model of attention on tensor units: the order of operations of a warp, bit-exact."""

from functools import partial, reduce

import numpy as np

from .....hw.config import MachineConfig
from .....hw.config.formats import FP32
from .....hw.config.tensor import TensorNumerics
from .....hw.styles.register_fed.config import RegisterFedConfig
from .....kernels.attention.problem import AttentionProblem
from .....kernels.attention.register_fed.plan import CHUNK, TILE, block_keys
from .....kernels.attention.weight_scale import weight_scale
from ...arith.float32 import stored
from ..attention_steps import MINUS_INFINITY, each_head, exponents, finished, keys_seen, rising
from ..tensor_product import matrix_product

__all__ = ["all_heads", "attention"]


def attention(
    config: MachineConfig, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE as the program ``kernels/attention/register_fed`` computes them.

    Parameters
    ----------
    config : MachineConfig
        A machine with tensor units fed by registers.
    problem : AttentionProblem
        Its operand format is that of the tensor units.
    q, k, v : ndarray
        Heads of Q, [problems, queries, depth], and of K and V, [problems // group, keys, depth], in
        the form of `kernels.elements`.

    """
    tensor = config.tensor
    assert isinstance(tensor, RegisterFedConfig)
    # Two lanes share a row: each has a part of its sum.
    step = partial(after_block, tensor)
    keys = block_keys(tensor, problem.depth)
    return all_heads(tensor, problem, (q, k, v), step, keys=keys, queries=TILE, parts=2)


def all_heads(
    tensor: TensorNumerics,
    problem: AttentionProblem,
    operands,
    step,
    *,
    keys: int,
    queries: int,
    parts: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE of all heads on tensor units, block after block of `keys`.

    Groups of `queries` leave out the same blocks. The sum of a row has `parts`, which are added at
    the end. `step` returns maxima, sums and O after a block, from the scale, scores, V, and those
    before it.
    """
    assert tensor.operand == problem.operand
    q, k, v = (np.ascontiguousarray(x).view(f"u{x.itemsize}").astype(np.uint32) for x in operands)

    def head(q, k, v) -> tuple[np.ndarray, np.ndarray]:
        pads = ((0, -problem.keys % keys), (0, 0))
        k, v = np.pad(k, pads), np.pad(v, pads)
        rows = np.arange(problem.queries)
        seen = keys_seen(problem, rows)
        of_tile = keys_seen(problem, rows // queries * queries + queries - 1)
        maximum = np.full(problem.queries, MINUS_INFINITY)
        sums = np.zeros((problem.queries, parts), np.float32)
        o = np.zeros((problem.queries, problem.depth), np.float32)
        with np.errstate(all="ignore"):
            for first in range(0, problem.keys, keys):
                used = np.nonzero((of_tile > first) | (first == 0))[0]
                block = slice(first, first + keys)
                maximum[used], sums[used], o[used] = step(
                    problem.scale_log2,
                    masked_scores(tensor, q[used], k[block], seen[used] - first),
                    v[block],
                    (maximum[used], sums[used], o[used]),
                    is_first=first == 0,
                )
            return finished(problem, maximum, reduce(np.add, [*sums.T]), o, weight_scale(tensor))

    return each_head(problem, q, k, v, head)


def masked_scores(tensor: TensorNumerics, q, k, seen) -> np.ndarray:
    """Return the scores of a block, -infinity for keys that a query skips."""
    zeros = np.zeros((len(q), len(k)), np.uint32)
    scores = matrix_product(q, np.ascontiguousarray(k.T), zeros, tensor).view(np.float32)
    return np.where(np.arange(len(k)) < seen[:, None], scores, MINUS_INFINITY)


def after_block(tensor: RegisterFedConfig, scale, scores, v, state, *, is_first: bool):
    """Return maxima, sums and O after a block of keys."""
    old, sums, o = state
    weights = weight_scale(tensor)
    maximum = np.fmax(old, np.fmax.reduce(scores, axis=1))
    if tensor.operand_width < FP32.width:
        maximum = rising(old, maximum, scale, weights)
    factor, powers = exponents(old, maximum, scores, scale, weights)
    factor = factor[:, None]
    sums = sums * factor
    for first in reversed(range(0, powers.shape[1], CHUNK)):
        sums = sums + lane_sums(powers[:, first : first + CHUNK])
    o = np.zeros_like(o) if is_first else o * factor
    total = matrix_product(stored(powers, tensor.operand), v, stored(o, "fp32"), tensor)
    return maximum, sums, total.view(np.float32)


def lane_sums(powers: np.ndarray) -> np.ndarray:
    """Return the sums of 16 powers of each row in the two lanes that share it.

    Column 8 s + 4 h + 2 l + n of the accumulators is in lane l, in register 4 h + n of set s.
    """
    parts = powers.reshape(-1, 2, 2, 2, 2)
    pairs = parts[..., 0] + parts[..., 1]
    sets = pairs[:, :, 0] + pairs[:, :, 1]
    return sets[:, 0] + sets[:, 1]
