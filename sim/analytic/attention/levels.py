"""Bytes of attention between caches and DRAM."""

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.attention.cores import style_of
from ....kernels.attention.hgmma import plan as hgmma_plan
from ....kernels.attention.problem import AttentionProblem
from ....kernels.attention.tensor import plan as tensor_plan
from ....kernels.elements import dtype_of
from ....kernels.gemm.plan import ceil_div
from ..levels.program import ProgramBytes
from ..work import Levels, Traffic
from .register_fed_plan import register_fed_plan
from .register_fed_steps import core_halves
from .shared_fed_steps import core_rounds

__all__ = ["attention_levels"]

#: Share of the L2 that K and V may have: 512 queries on `ampere` with 512 keys, half of it, read
#: them once, with 1,024 keys more than once.
KEPT = 0.75


def attention_levels(
    config: ClusterConfig, problem: AttentionProblem, traffic: Traffic, own: ProgramBytes
) -> Levels:
    """Return the bytes of attention between caches and DRAM, with its exact work.

    On a matrix unit, the DMA reads the operands, the unit stores O, and the cores store LSE. The
    warps of tensor units also store Q, if it does not stay in shared memory, and O of each block of
    keys: the L2 writes lines back early, and few are read from DRAM again.
    """
    row = problem.depth * dtype_of(problem.operand).itemsize
    queries = problem.problems * problem.queries
    beat = config.axi.beat_bytes
    lse = ceil_div(queries * WORD_BYTES, beat) * beat
    written = own.written + lse
    read: int | None = own.read + traffic.dma_read_bytes
    style = style_of(config)
    if style == "systolic":
        written += traffic.dma_written_bytes
    else:
        tiles, blocks, further = warp_blocks(config, problem, style)
        query, output = warp_bytes(config, problem, style, row)
        read += queries * row + further * own.per_warp
        if style == "tensor":
            keys = 2 * problem.keys * row
            read = read + problem.kv_heads * keys if is_kept(config, problem, keys) else None
        written += queries * row
        written += tiles * (query + own.per_tile) + blocks * (output + own.per_block)
    return Levels(dram_read_bytes=read, dram_written_bytes=written, l1d_filled_bytes=None)


def is_kept(config: ClusterConfig, problem: AttentionProblem, keys: int) -> bool:
    """Return whether the L2 keeps K and V of a head, of `keys` bytes, for all tiles of queries.

    Beside them it holds Q and O of a tile.
    """
    rows = register_fed_plan(config, problem.depth).rows
    return problem.queries <= rows or keys <= KEPT * config.l2.size


def warp_blocks(
    config: ClusterConfig, problem: AttentionProblem, style: str
) -> tuple[int, int, int]:
    """Return tiles of queries of all warps, their blocks of keys, and those of further warps."""
    if style == "tensor":
        plan = register_fed_plan(config, problem.depth)
        cores = [core for half in core_halves(plan, problem) for core in half]
        return sum(core.begins for core in cores), sum(core.scores for core in cores), 0
    plan = hgmma_plan.attention_plan(config, problem.depth)
    tiles = blocks = further = 0
    for round_ in core_rounds(config, plan, problem):
        tiles += sum(core.warps for core in round_.blocks[0])
        for cores in round_.blocks:
            blocks += sum(core.warps for core in cores)
            further += sum(max(0, core.warps - 1) for core in cores)
    return tiles, blocks, further


def warp_bytes(
    config: ClusterConfig, problem: AttentionProblem, style: str, row: int
) -> tuple[int, int]:
    """Return the bytes of Q and of O of a warp, 0 if they are in shared memory or registers."""
    if style == "hgmma":
        return 0, hgmma_plan.TILE * problem.depth * WORD_BYTES
    plan = register_fed_plan(config, problem.depth)
    query = 0 if plan.has_queries else tensor_plan.TILE * row
    output = 0 if plan.has_output else tensor_plan.TILE * problem.depth * WORD_BYTES
    return query, output
