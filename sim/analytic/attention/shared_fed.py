"""Exact work of ``attention`` on tensor units fed by shared memory."""

from ....hw.config import MachineConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.shared_fed.plan import TILE, attention_plan
from ....kernels.gemm.shared_fed.unit import shared_fed_unit
from ..work import Traffic
from .dma_traffic import DmaTraffic, copied
from .seen import blocks_of, seen

__all__ = ["dma_traffic", "traffic_of"]


def traffic_of(config: MachineConfig, problem: AttentionProblem) -> Traffic:
    """Return the products of each core, and the bytes that they read and that the DMA moves.

    No products are repeated: a run with other maxima, which are data, has more of them.
    """
    plan, tensor = attention_plan(config, problem.depth), shared_fed_unit(config)
    # As many for O as for the scores of a block.
    products = 2 * (plan.keys // TILE) * (problem.depth // tensor.depth)
    counts = [products * blocks for blocks in core_blocks(config, problem)]
    dma = dma_traffic(config, problem)
    return Traffic(
        active=sum(counts) * tensor.steps,
        shared_read_bytes={
            f"tensor{core}": 2 * tensor.operand_bytes * count for core, count in enumerate(counts)
        },
        dma_read_bytes=dma.read,
        dma_written_bytes=dma.written,
        products=sum(counts),
    )


def core_blocks(config: MachineConfig, problem: AttentionProblem) -> list[int]:
    """Return for each core the blocks of keys that its warps process, of all heads.

    The warps of all cores have a tile of queries at a time, warp by warp side by side. A warp
    leaves out a block, unless it is the first, if its last query attends to none of it.
    """
    plan = attention_plan(config, problem.depth)
    rows, counts = TILE * plan.warps * config.cores, [0] * config.cores
    for first in range(0, problem.queries, rows):
        blocks = blocks_of(problem, first, rows, plan.keys)
        for warp in range(plan.warps * config.cores):
            row = first + TILE * warp
            if row < problem.queries:
                last = seen(problem, row + TILE - 1)
                most = max(1, -(-last // plan.keys))
                counts[warp % config.cores] += min(blocks, most)
    return [count * problem.problems for count in counts]


def dma_traffic(config: MachineConfig, problem: AttentionProblem) -> DmaTraffic:
    """Return the bytes that the DMA reads; the cores load Q and store O through their caches."""
    plan = attention_plan(config, problem.depth)
    return DmaTraffic(
        q=0, kv=copied(problem, config.cores * plan.warps * TILE, plan.keys), written=0
    )
