"""Exact work of ``attention`` on a matrix unit: rows of each product, and bytes."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.config import WORD_BYTES, MachineConfig
from ....kernels.attention.cluster_array.plan import KEYS, attention_plan
from ....kernels.attention.problem import AttentionProblem
from ....kernels.gemm.problem import ceil_div
from ....kernels.gemm.target import systolic_unit
from ..work import Traffic
from .dma_traffic import DmaTraffic, copied
from .levels import row_bytes
from .seen import keys_read

__all__ = ["attention_steps", "dma_traffic", "traffic_of"]


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

    """

    keys: int
    scores: int
    output: int
    division: int
    is_first: bool
    is_last: bool


def attention_steps(config: MachineConfig, problem: AttentionProblem) -> Iterator[AttentionStep]:
    """Yield the steps of all heads; a block of queries has whole rows, a last block of keys not."""
    unit, rows = systolic_unit(config), attention_plan(config, problem.depth).rows
    columns = ceil_div(problem.depth, unit.columns)
    for first in list(range(0, problem.queries, rows)) * problem.problems:
        end = keys_read(problem, first, rows, KEYS)
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
            )


def traffic_of(config: MachineConfig, problem: AttentionProblem) -> Traffic:
    """Return the rows that enter the array, and the bytes that the unit and the DMA move.

    A block of scores reads K once for each column block of Q, and P V reads P once for each column
    block of V; Q and V are read once. The product that divides O has zeros of depth 1 and reads the
    inverses of the rows. With operands of 32 bits each further block also reads factors of the
    rows; with 16 bits it does only if a maximum is replaced, which depends on the data.
    """
    unit, plan = systolic_unit(config), attention_plan(config, problem.depth)
    element = unit.operand_bytes
    query_blocks = ceil_div(plan.rows, unit.columns)
    value_blocks = ceil_div(problem.depth, unit.columns)
    a = b = active = 0
    for step in attention_steps(config, problem):
        active += step.scores + step.output + step.division
        a += step.keys * (query_blocks * problem.depth + value_blocks * plan.rows) * element
        b += (plan.rows + step.keys) * problem.depth * element
        if plan.per_lane == 1 and not step.is_first:
            a += plan.rows * WORD_BYTES
        if step.is_last:
            a += plan.rows * (value_blocks * element + WORD_BYTES)
            b += problem.depth * element
    dma = dma_traffic(config, problem)
    return Traffic(
        active=active,
        shared_read_bytes={"a": a, "b": b},
        dma_read_bytes=dma.read,
        dma_written_bytes=dma.written,
    )


def dma_traffic(config: MachineConfig, problem: AttentionProblem) -> DmaTraffic:
    """Return the bytes that the DMA reads, and that the unit writes, in whole beats.

    The DMA also reads Q once, and the unit drains a row of O in pieces of
    `SystolicConfig.drain_bytes`, each of which is a beat, half filled on `virgo_fp32`; the rest of
    the traffic is LSE, and the program.
    """
    row, beat = row_bytes(problem), config.axi.beat_bytes
    queries = problem.problems * problem.queries
    piece = systolic_unit(config).drain_bytes
    pieces = row // piece * ceil_div(piece, beat)
    rows = attention_plan(config, problem.depth).rows
    return DmaTraffic(
        q=queries * row, kv=copied(problem, rows, KEYS), written=queries * pieces * beat
    )
