"""Exact work of ``attention`` on tensor units fed by registers."""

from .....hw.config import WORD_BYTES, MachineConfig
from .....kernels.attention.problem import AttentionProblem
from .....kernels.attention.register_fed.plan import (
    CHUNK_ROWS,
    FRAGMENT_ROWS,
    RegisterFedAttentionPlan,
    attention_plan,
)
from .....kernels.gemm.register_fed.unit import register_fed_unit
from ...work import Traffic
from .steps import CoreHalf, core_halves

__all__ = ["traffic_of"]

#: Rows by which lanes exchange maxima, or sums at the end of a tile.
EXCHANGED = 2


def traffic_of(config: MachineConfig, problem: AttentionProblem) -> Traffic:
    """Return the products, and the bytes of rows of shared memory that the cores read and write.

    Stores of lanes to several rows, powers of 16 bits and K, are not among them.
    """
    assert config.core is not None
    plan = attention_plan(config, problem.depth)
    products = read = written = blocks = 0
    for number, cores in enumerate(core_halves(plan, problem)):
        blocks += number % 2
        for core in cores:
            products += core.scores * plan.score_products + core.outputs * plan.output_products
            read += rows_read(plan, core)
            written += rows_written(plan, core)
    written += blocks * plan.pieces * FRAGMENT_ROWS  # V
    row = config.core.threads * WORD_BYTES
    return Traffic(
        active=products * register_fed_unit(config).steps,
        shared_read_bytes={"rows": read * row},
        shared_written_bytes={"rows": written * row},
        dma_read_bytes=0,
        dma_written_bytes=0,
        products=products,
    )


def rows_read(plan: RegisterFedAttentionPlan, core: CoreHalf) -> int:
    """Return the rows that a core reads in a half, besides copies."""
    keys = FRAGMENT_ROWS * plan.score_products
    queries = keys // 2 if plan.has_queries else 0
    stored_rows = (plan.score_chunks - 1) * CHUNK_ROWS
    factors = 3 * FRAGMENT_ROWS * plan.output_products // 2
    output = plan.output_chunks * CHUNK_ROWS if plan.has_output else 0
    return (
        core.scores * (keys + queries + EXCHANGED)
        + core.masked * 2 * CHUNK_ROWS
        + core.outputs * (stored_rows + factors + (0 if core.first else output))
        + core.ends * (EXCHANGED + output)
    )


def rows_written(plan: RegisterFedAttentionPlan, core: CoreHalf) -> int:
    """Return the rows that a core writes in a half, besides copies of K and V."""
    stored_rows = (plan.score_chunks - 1) * CHUNK_ROWS
    queries = plan.score_steps * FRAGMENT_ROWS if plan.has_queries else 0
    # Words of powers of 32 bits are stored for half the lanes, and then for the others.
    powers = 2 * plan.score_chunks * CHUNK_ROWS if plan.per_word == 1 else 0
    output = plan.output_chunks * CHUNK_ROWS if plan.has_output else 0
    return (
        core.scores * (stored_rows + EXCHANGED)
        + core.begins * queries
        + core.masked * 2 * CHUNK_ROWS
        + core.outputs * (powers + output)
        + core.ends * EXCHANGED
    )
