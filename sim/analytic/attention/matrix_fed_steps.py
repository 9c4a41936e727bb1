"""Steps of ``attention`` on a matrix unit: rows of each product, in the order of the program."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.config import ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.systolic.plan import KEYS, attention_plan
from ....kernels.gemm.plan import ceil_div
from ....kernels.gemm.target import systolic_unit
from .seen import keys_read, seen

__all__ = ["AttentionStep", "attention_steps"]


@dataclass(frozen=True, kw_only=True)
class AttentionStep:
    """Products of a block of queries with a block of keys, in rows that enter the array.

    Parameters
    ----------
    keys : int
        Keys of the block.
    scores, output : int
        Rows of K Qᵀ, and of P V.
    division : int
        Rows of the product of zeros that divides O; 0 if the step is not the last of its block.
    is_first, is_last : bool
        Whether it is the first, or the last, step of its block of queries.
    is_masked : bool
        Whether a query does not see all keys of a whole block.

    """

    keys: int
    scores: int
    output: int
    division: int
    is_first: bool
    is_last: bool
    is_masked: bool


def attention_steps(config: ClusterConfig, problem: AttentionProblem) -> Iterator[AttentionStep]:
    """Yield the steps of all heads; a block of queries has whole rows, a last block of keys not."""
    unit, rows = systolic_unit(config), attention_plan(config, problem.depth).rows
    columns = ceil_div(problem.depth, unit.columns)
    for first in list(range(0, problem.queries, rows)) * problem.problems:
        end = keys_read(problem, first, rows, KEYS)
        fewest = seen(problem, first)  # the first query of the block sees the fewest keys
        for key in range(0, end, KEYS):
            keys = min(KEYS, problem.keys - key)
            is_last = key + KEYS >= end
            yield AttentionStep(
                keys=keys,
                scores=keys * ceil_div(rows, unit.columns) * ceil_div(problem.depth, unit.rows),
                output=rows * columns * ceil_div(keys, unit.rows),
                division=rows * columns * is_last,
                is_first=key == 0,
                is_last=is_last,
                is_masked=key + KEYS > fewest,
            )
