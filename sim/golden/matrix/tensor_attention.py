"""Golden model of attention on tensor units: the order of operations of a warp, bit-exact."""

import numpy as np

from ....hw.config import ClusterConfig
from ....hw.config.formats import FORMATS, FP32, FloatFormat
from ....hw.config.tensor import TensorConfig, TensorNumerics
from ....hw.isa.operations import SpecialOperation
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.tensor.plan import CHUNK, TILE, block_keys
from ....kernels.elements import dtype_of
from ..arith.float.floats import convert, multiply_add
from ..arith.special.special_function import special_function
from ..core.units.tensor import matrix_product

__all__ = ["attention"]

#: Maxima are kept if new ones exceed them by at most this, as exponents of 2.
SLACK = np.float32(8)
LN_2 = np.float32(np.log(2))
MINUS_INFINITY = np.float32(-np.inf)


def attention(
    config: ClusterConfig, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE as the program ``kernels/attention/tensor`` computes them.

    Parameters
    ----------
    config : ClusterConfig
        A machine with tensor units fed by registers.
    problem : AttentionProblem
        Its operand format is that of the tensor units.
    q, k, v : ndarray
        Heads of Q, [problems, queries, depth], and of K and V, [problems // group, keys, depth], in
        the form of `kernels.elements`.

    """
    tensor = config.tensor_units
    assert tensor is not None and tensor.operand == problem.operand
    q, k, v = (np.ascontiguousarray(x).view(f"u{x.itemsize}").astype(np.uint32) for x in (q, k, v))
    heads = [
        head(tensor, problem, q[number], k[number // problem.group], v[number // problem.group])
        for number in range(problem.problems)
    ]
    o, lse = (np.stack(each) for each in zip(*heads, strict=True))
    return o, lse


def head(tensor: TensorConfig, problem: AttentionProblem, q, k, v) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE of one head; operands are stored numbers."""
    size = block_keys(tensor, problem.depth)
    pads = ((0, -problem.keys % size), (0, 0))
    k, v = np.pad(k, pads), np.pad(v, pads)
    rows = np.arange(problem.queries)
    seen = keys_seen(problem, rows)
    of_tile = keys_seen(problem, rows // TILE * TILE + TILE - 1)
    maximum = np.full(problem.queries, MINUS_INFINITY)
    # Two lanes share a row: each has a part of its sum.
    sums = np.zeros((problem.queries, 2), np.float32)
    o = np.zeros((problem.queries, problem.depth), np.float32)
    with np.errstate(all="ignore"):
        for first in range(0, problem.keys, size):
            used = np.nonzero((of_tile > first) | (first == 0))[0]
            block = slice(first, first + size)
            maximum[used], sums[used], o[used] = after_block(
                tensor,
                problem.scale_log2,
                masked_scores(tensor, q[used], k[block], seen[used] - first),
                v[block],
                (maximum[used], sums[used], o[used]),
                is_first=first == 0,
            )
        return finished(problem, maximum, sums[:, 0] + sums[:, 1], o)


def keys_seen(problem: AttentionProblem, rows: np.ndarray) -> np.ndarray:
    """Return how many keys each query sees."""
    if not problem.causal:
        return np.full(len(rows), problem.keys)
    return np.clip(rows + 1 + problem.keys - problem.queries, 0, problem.keys)


def masked_scores(tensor: TensorNumerics, q, k, seen) -> np.ndarray:
    """Return the scores of a block, -infinity for keys that a query does not see."""
    zeros = np.zeros((len(q), len(k)), np.uint32)
    scores = matrix_product(q, np.ascontiguousarray(k.T), zeros, tensor).view(np.float32)
    return np.where(np.arange(len(k)) < seen[:, None], scores, MINUS_INFINITY)


def after_block(tensor: TensorConfig, scale, scores, v, state, *, is_first: bool):
    """Return maxima, sums and O after a block of keys."""
    old, sums, o = state
    maximum = np.fmax(old, np.fmax.reduce(scores, axis=1))
    if tensor.operand_width < FP32.width:
        maximum = np.where((maximum - old) * scale > SLACK, maximum, old)
    safe = np.where(maximum == MINUS_INFINITY, np.float32(0), maximum)
    factor = special(SpecialOperation.EXP2, (old - safe) * scale)[:, None]
    shift = -(safe * scale)[:, None]
    powers = special(SpecialOperation.EXP2, fused(scores, scale, shift))
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


def finished(problem: AttentionProblem, maximum, sums, o) -> tuple[np.ndarray, np.ndarray]:
    """Return O divided by the sums in the format of the operands, and LSE."""
    inverse = special(SpecialOperation.RCP, sums)
    o = o * np.where(sums == 0, np.float32(0), inverse)[:, None]
    exponent = fused(maximum, problem.scale_log2, special(SpecialOperation.LOG2, sums))
    lse = stored(exponent * LN_2, "fp32").view(np.float32)
    narrow = stored(o, problem.operand)
    return narrow.astype(f"u{FORMATS[problem.operand].width // 8}").view(
        dtype_of(problem.operand)
    ), lse


def special(operation: SpecialOperation, x) -> np.ndarray:
    """Return a special function of FP32 numbers."""
    bits = stored(x, "fp32")
    return special_function(operation, bits.ravel()).view(np.float32).reshape(bits.shape)


def fused(a, b, c) -> np.ndarray:
    """Return ``a * b + c``, rounded once."""
    bits = (stored(x, "fp32") for x in np.broadcast_arrays(a, b, c))
    return multiply_add(*bits, operand=FP32).view(np.float32)


def stored(values, form: str) -> np.ndarray:
    """Return FP32 numbers rounded to a format, stored, with its NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    bits = np.where(np.isnan(values), np.uint32(FP32.nan), bits)
    target = FORMATS[form]
    assert isinstance(target, FloatFormat)
    return bits if target == FP32 else convert(bits, FP32, target)
