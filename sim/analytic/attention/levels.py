"""Bytes of attention between caches and DRAM."""

from dataclasses import dataclass

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.elements import dtype_of
from ....kernels.gemm.plan import ceil_div
from ..levels.program import ProgramBytes
from ..work import Levels, Traffic

__all__ = ["CachedWork", "attention_levels", "row_bytes"]


@dataclass(frozen=True, kw_only=True)
class CachedWork:
    """Work of the cores through their caches; none on a matrix unit, besides LSE.

    Parameters
    ----------
    read : int or None
        Bytes of operands; None if the L2 keeps only a part of what is read again.
    written : int
        Bytes of O, and of Q and O of each block of keys that do not stay in shared memory: the L2
        writes lines back early, and few are read from DRAM again.
    tiles, blocks : int
        Tiles of queries of all warps, and their blocks of keys.

    """

    read: int | None = 0
    written: int = 0
    tiles: int = 0
    blocks: int = 0


def row_bytes(problem: AttentionProblem) -> int:
    """Return the bytes of a row of Q, K, V or O."""
    return problem.depth * dtype_of(problem.operand).itemsize


def attention_levels(
    config: ClusterConfig,
    problem: AttentionProblem,
    traffic: Traffic,
    cached: CachedWork,
    own: ProgramBytes,
) -> Levels:
    """Return the bytes of attention between caches and DRAM: of DMA, cores and program.

    The cores store LSE, in whole beats.
    """
    beat = config.axi.beat_bytes
    lse = ceil_div(problem.problems * problem.queries * WORD_BYTES, beat) * beat
    read = None
    if cached.read is not None:
        read = own.read + traffic.dma_read_bytes + cached.read
    return Levels(
        dram_read_bytes=read,
        dram_written_bytes=own.written
        + traffic.dma_written_bytes
        + lse
        + cached.written
        + cached.tiles * own.per_tile
        + cached.blocks * own.per_block,
    )
