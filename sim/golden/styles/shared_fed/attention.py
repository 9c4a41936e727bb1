"""Golden model of attention on tensor units that read shared memory, bit-exact."""

from functools import partial

import numpy as np

from .....hw.config import MachineConfig
from .....hw.styles.shared_fed.config import SharedFedConfig
from .....kernels.attention.problem import AttentionProblem
from .....kernels.attention.shared_fed.plan import GROUP, TILE, block_keys
from .....kernels.attention.weight_scale import weight_scale
from ...arith.float32 import stored
from ..attention_steps import factors, limit_of, powers_of
from ..register_fed.attention import all_heads
from ..tensor_product import matrix_product

__all__ = ["attention"]


def attention(
    config: MachineConfig, problem: AttentionProblem, q, k, v
) -> tuple[np.ndarray, np.ndarray]:
    """Return O and LSE as the program ``kernels/attention/shared_fed`` computes them.

    Parameters
    ----------
    config : MachineConfig
        A machine with tensor units that read shared memory.
    problem : AttentionProblem
        Its operand format is that of the tensor units.
    q, k, v : ndarray
        Heads of Q, [problems, queries, depth], and of K and V, [problems // group, keys, depth], in
        the form of `kernels.elements`.

    """
    tensor = config.tensor
    assert isinstance(tensor, SharedFedConfig)
    step = partial(after_block, tensor)
    keys = block_keys(problem.depth)
    return all_heads(tensor, problem, (q, k, v), step, keys=keys, queries=TILE, parts=1)


def after_block(tensor: SharedFedConfig, scale, scores, v, state, *, is_first: bool):
    """Return maxima, sums and O after a block of keys."""
    old, sums, o = state
    weights = weight_scale(tensor)
    if is_first:
        old = np.fmax(old, np.fmax.reduce(scores[:, :TILE], axis=1))
    is_above = block_sums(powers_of(old, scores, scale, weights)) > limit_of(weights)
    maximum = np.where(is_above, np.fmax(old, np.fmax.reduce(scores, axis=1)), old)
    factor = np.where(is_above, factors(old, maximum, scale), np.float32(1))[:, None]
    powers = powers_of(maximum, scores, scale, weights)
    sums = sums * factor + block_sums(powers)[:, None]
    o = np.zeros_like(o) if is_first else o * factor
    total = matrix_product(stored(powers, tensor.operand), v, stored(o, "fp32"), tensor)
    return maximum, sums, total.view(np.float32)


def block_sums(powers: np.ndarray) -> np.ndarray:
    """Return the sum of each row's powers: in each tile, those of the first two keys are last."""
    tiles = np.roll(powers.reshape(len(powers), -1, TILE), -2, axis=2)
    parts = tiles.reshape(len(powers), -1, GROUP)
    groups = (parts[..., 0] + parts[..., 1]) + (parts[..., 2] + parts[..., 3])
    total = np.zeros(len(powers), np.float32)
    for group in groups.T:
        total = total + group
    return total
