"""Lines of C, or of a bias, that the cores of a matrix unit read to finish C."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.gemm.plan import ceil_div
from ....kernels.gemm.problem import GemmProblem
from ..finished.tiles import LANE_COLUMNS, finish_warps
from ..program_steps import ProgramStep, program_tiles

__all__ = ["ReadLines", "added_lines", "bias_lines"]


@dataclass(frozen=True, kw_only=True)
class ReadLines:
    """Lines that cores read.

    Parameters
    ----------
    all : int
        Lines of DRAM.
    filled : int
        Lines of the caches of all cores, each with its own.
    prefetched : int
        Lines that the L2 prefetches behind the last one.

    """

    all: int
    filled: int
    prefetched: int


def bias_lines(config: ClusterConfig, product: GemmProblem) -> ReadLines:
    """Return the lines of a bias of one word per column, which every core reads."""
    assert config.core is not None
    lines = ceil_div(product.n * WORD_BYTES, config.core.l1d.line_bytes)
    return ReadLines(
        all=lines, filled=lines * config.cores, prefetched=prefetched_lines(config, lines)
    )


def added_lines(
    config: ClusterConfig, product: GemmProblem, steps: Sequence[ProgramStep]
) -> ReadLines:
    """Return the lines of C that the cores read in the tiles that the steps complete.

    Each warp has a group of columns, in every `down`-th row. A core keeps the lines that its warps
    share.
    """
    assert config.core is not None
    lanes, line = config.core.threads, config.core.l1d.line_bytes
    size, tiles = product.element_bytes("c"), program_tiles(config, is_finished=True)
    across, down = finish_warps(config)
    width = LANE_COLUMNS * lanes
    read = []
    for step in steps:
        if not step.last:
            continue
        rows = np.arange(step.m)
        place = product.c_base + ((step.row + rows) * product.c_pitch + step.column) * size
        for first in range(0, step.n, width):
            end = min(first + width, step.n)
            warp = rows % down * across + first // width % across
            core = config.cores - 1 - warp // config.core.warps
            begin, last = (place + first * size) // line, (place + end * size - 1) // line
            for number in range(ceil_div(width * size, line) + 1):
                at = begin + number
                read.append(np.stack([core, at])[:, at <= last])
    lines = np.unique(np.concatenate(read, axis=1), axis=1)
    pitch, run = product.c_pitch * size, min(product.n, tiles.n) * size // line
    has_gaps = pitch % line == 0 and product.c_pitch > tiles.n
    every = len(np.unique(lines[1]))
    return ReadLines(
        all=every,
        filled=lines.shape[1],
        prefetched=prefetched_lines(config, run if has_gaps else every),
    )


def prefetched_lines(config: ClusterConfig, run: int) -> int:
    """Return the lines that the L2 prefetches behind the last of a run of neighbours.

    A slice begins to prefetch with the second of two lines that follow each other in it.
    """
    return config.l2.prefetch * config.axi.masters if run > config.axi.masters else 0
