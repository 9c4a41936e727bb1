"""Exact work of ``attention`` on a matrix unit."""

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.systolic.plan import attention_plan
from ....kernels.gemm.plan import ceil_div
from ....kernels.gemm.target import systolic_unit
from ..work import Traffic
from .dma_traffic import dma_traffic
from .matrix_fed_steps import AttentionStep

__all__ = ["traffic_of"]


def traffic_of(
    config: ClusterConfig, problem: AttentionProblem, steps: list[AttentionStep]
) -> Traffic:
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
    for step in steps:
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
