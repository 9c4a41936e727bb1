"""Bytes of operands and results of attention between caches and DRAM."""

from ....hw.config import WORD_BYTES, MachineConfig
from ....kernels.attention.problem import AttentionProblem
from ....kernels.elements import dtype_of
from ....kernels.gemm.problem import ceil_div
from ..work import Levels, Traffic

__all__ = ["attention_levels", "row_bytes"]


def row_bytes(problem: AttentionProblem) -> int:
    """Return the bytes of a row of Q, K, V or O."""
    return problem.depth * dtype_of(problem.operand).itemsize


def attention_levels(config: MachineConfig, problem: AttentionProblem, traffic: Traffic) -> Levels:
    """Return the bytes on a matrix unit: those of the DMA, and LSE, which the cores store."""
    beat = config.axi.beat_bytes
    lse = ceil_div(problem.problems * problem.queries * WORD_BYTES, beat) * beat
    return Levels(
        dram_read_bytes=traffic.dma_read_bytes,
        dram_written_bytes=traffic.dma_written_bytes + lse,
    )
