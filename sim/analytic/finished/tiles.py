"""Tiles of C that the cores finish: groups of columns, bytes read, and cycles."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.config import WORD_BYTES, ClusterConfig
from ....kernels.gemm.plan import ceil_div
from ....kernels.gemm.problem import GemmProblem
from ..program_steps import ProgramStep, program_tiles
from .program import COSTS

__all__ = ["LANE_COLUMNS", "finish_cycles", "finish_read_words", "finish_warps"]

#: Warps that finish no tiles: the commanding one and the loading one.
OTHER_WARPS = 2
#: Columns of a tile that a lane has.
LANE_COLUMNS = 2


@dataclass(frozen=True, kw_only=True)
class Group:
    """Columns of a tile that the lanes of a warp have.

    Parameters
    ----------
    columns : int
        Columns within C.
    in_words : bool
        Whether every lane writes two FP16 elements as one word.

    """

    columns: int
    in_words: bool


def groups_of(config: ClusterConfig, product: GemmProblem, step: ProgramStep) -> Iterator[Group]:
    """Yield the groups of columns of the tile of C that a step completes."""
    assert config.core is not None
    width, size = LANE_COLUMNS * config.core.threads, product.element_bytes("c")
    is_half = product.c_format == "fp16"
    pitch = product.c_pitch * size
    place = product.c_base + step.row * pitch + step.column * size
    is_aligned = not (place | pitch) % WORD_BYTES
    for first in range(0, step.n, width):
        columns = min(width, step.n - first)
        yield Group(columns=columns, in_words=is_half and is_aligned and columns == width)


def finish_warps(config: ClusterConfig) -> tuple[int, int]:
    """Return the warps that finish a tile side by side, each a group of columns, and below."""
    assert config.core is not None
    tiles = program_tiles(config, is_finished=True)
    warps = config.cores * config.core.warps - OTHER_WARPS
    across = min(ceil_div(tiles.n, LANE_COLUMNS * config.core.threads), warps)
    return across, warps // across


def finish_read_words(config: ClusterConfig, product: GemmProblem, step: ProgramStep) -> int:
    """Return the words of shared memory that the cores read for the tile that a step completes.

    A lane reads the elements of its two columns one after the other. The columns are neighbours if
    C is FP16; otherwise those of all lanes are. Lanes with words in one row of the row port read
    the whole row, others a word each.
    """
    assert config.core is not None
    row = (config.row_bytes or 0) // WORD_BYTES
    lanes, is_half = config.core.threads, product.c_format == "fp16"
    words = 0
    for group in groups_of(config, product, step):
        if is_half:
            parts = (ceil_div(group.columns, LANE_COLUMNS), group.columns // LANE_COLUMNS)
        else:
            parts = (min(lanes, group.columns), max(0, group.columns - lanes))
        distance = LANE_COLUMNS if is_half else 1
        for part in parts:
            is_row = part and (part - 1) * distance < row
            words += row if is_row else part
    return words * step.m


def finish_cycles(
    kernel: str, config: ClusterConfig, product: GemmProblem, step: ProgramStep
) -> int:
    """Return the cycles of the rows of the tile that a step completes.

    A group of columns has an equal number of warps, and each of them has the same number of rows.
    The core with most of the warps issues their instructions, unless that of one warp take longer.
    """
    assert config.core is not None
    costs, tiles = COSTS[kernel], program_tiles(config, is_finished=True)
    groups, down = finish_warps(config)
    rows = ceil_div(step.m, down)
    words = "dense" if product.c_pitch <= tiles.n and "dense" in costs else "words"
    issued = alone = 0.0
    for group in groups_of(config, product, step):
        slots, least = costs[words if group.in_words else product.c_format]
        issued += config.core.warps // groups * slots
        alone = max(alone, least)
    return round(rows * max(issued, alone))
