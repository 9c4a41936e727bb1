"""DRAM traffic of attention in closed form, for matrix units, whose DMA loads Q, K and V."""

from dataclasses import dataclass

from ...hw.config import ClusterConfig
from ...kernels.attention.cores import style_of
from ...kernels.attention.problem import AttentionProblem
from ...kernels.attention.systolic.plan import KEYS, attention_plan
from ...kernels.elements import dtype_of
from ...kernels.gemm.target import systolic_unit

__all__ = ["DmaTraffic", "dma_traffic"]


@dataclass(frozen=True)
class DmaTraffic:
    """Bytes of beats that the DMA reads from DRAM, Q, and K and V together, and writes, O."""

    q: int
    kv: int
    written: int

    @property
    def read(self) -> int:
        """All bytes read."""
        return self.q + self.kv


def dma_traffic(config: ClusterConfig, problem: AttentionProblem) -> DmaTraffic:
    """Return the bytes that the DMA reads, and that the unit writes, in whole beats.

    A block of queries reads Q once, and each row of K and V up to the end of the last block of keys
    that any of its queries sees, but at least one block. The unit drains a row of O in pieces of
    `SystolicConfig.drain_bytes`, each of which is a beat, half filled on `virgo_fp32`. The rest of
    the traffic is LSE, and the program.
    """
    if style_of(config) != "systolic":
        raise ValueError("the cores must not load operands themselves")
    plan = attention_plan(config, problem.depth)
    row = problem.depth * dtype_of(problem.operand).itemsize
    piece = systolic_unit(config).drain_bytes
    written = row // piece * -(-piece // config.axi.beat_bytes) * config.axi.beat_bytes
    keys = sum(
        keys_read(problem, first, plan.rows) for first in range(0, problem.queries, plan.rows)
    )
    rows = problem.problems * problem.queries
    return DmaTraffic(q=rows * row, kv=2 * problem.problems * keys * row, written=rows * written)


def keys_read(problem: AttentionProblem, first: int, rows: int) -> int:
    """Return the keys that the block of queries from `first` reads."""
    if not problem.causal:
        return problem.keys
    last = min(first + rows, problem.queries) - 1
    seen = max(1, last + 1 + problem.keys - problem.queries)
    return min(-(-seen // KEYS) * KEYS, problem.keys)
