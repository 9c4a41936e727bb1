"""Exact work of products whose cores finish C: with a bias, an activation, or an addition."""

from dataclasses import replace

from ....hw.config import WORD_BYTES, MachineConfig
from ....kernels.gemm.problem import GemmProblem, ceil_div
from ..work import CORES, Traffic
from .product import require_described, unit_traffic
from .program_steps import ProgramStep, program_steps

__all__ = ["finished_traffic"]

#: Columns of a tile that a lane has.
LANE_COLUMNS = 2


def finished_traffic(config: MachineConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product: that of the unit, and words that the cores read of C."""
    require_described(config)
    steps = list(program_steps(config, product, is_finished=True))
    traffic = unit_traffic(config, product, steps)
    read = sum(finish_read_words(config, product, step) for step in steps if step.last)
    return replace(
        traffic,
        shared_read_bytes=traffic.shared_read_bytes | {CORES: read * WORD_BYTES},
        dma_written_bytes=0,
    )


def finish_read_words(config: MachineConfig, product: GemmProblem, step: ProgramStep) -> int:
    """Return the words of shared memory that the cores read for the tile that a step completes.

    A lane reads the elements of its two columns one after the other. The columns are neighbours if
    C is FP16; otherwise those of all lanes are. Lanes with words in one row of the row port read
    the whole row, others a word each.
    """
    assert config.core is not None
    row = (config.row_bytes or 0) // WORD_BYTES
    lanes, is_half = config.core.threads, product.c_format == "fp16"
    words = 0
    width = LANE_COLUMNS * lanes
    for first in range(0, step.n, width):
        columns = min(width, step.n - first)
        if is_half:
            parts = (ceil_div(columns, LANE_COLUMNS), columns // LANE_COLUMNS)
        else:
            parts = (min(lanes, columns), max(0, columns - lanes))
        distance = LANE_COLUMNS if is_half else 1
        for part in parts:
            is_row = part and (part - 1) * distance < row
            words += row if is_row else part
    return words * step.m
