"""DRAM traffic of attention in closed form: what the DMA copies, and the matrix unit stores."""

from dataclasses import dataclass

from ....hw.config import ClusterConfig
from ....kernels.attention.cluster_array import plan as cluster_array_plan
from ....kernels.attention.cores import style_of
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.shared_fed import plan as shared_fed_plan
from ....kernels.gemm.target import systolic_unit
from .levels import row_bytes
from .seen import keys_read

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

    A block of queries reads each row of K and V up to the end of the last block of keys that any of
    its queries sees, but at least one block. On a matrix unit it also reads Q once, and the unit
    drains a row of O in pieces of `SystolicConfig.drain_bytes`, each of which is a beat, half
    filled on `virgo_fp32`; the rest of the traffic is LSE, and the program. On tensor units that
    read shared memory, the cores load Q and store O through their caches.
    """
    row = row_bytes(problem)
    queries = problem.problems * problem.queries
    style = style_of(config)
    if style == "cluster_array":
        plan = cluster_array_plan.attention_plan(config, problem.depth)
        rows, block = plan.rows, cluster_array_plan.KEYS
        piece = systolic_unit(config).drain_bytes
        pieces = row // piece * -(-piece // config.axi.beat_bytes)
        q, written = queries * row, queries * pieces * config.axi.beat_bytes
    elif style == "shared_fed":
        hgmma = shared_fed_plan.attention_plan(config, problem.depth)
        rows, block = config.cores * hgmma.warps * shared_fed_plan.TILE, hgmma.keys
        q = written = 0
    else:
        raise ValueError("the cores must not load operands themselves")
    keys = sum(keys_read(problem, first, rows, block) for first in range(0, problem.queries, rows))
    return DmaTraffic(q=q, kv=2 * problem.problems * keys * row, written=written)
