"""Fetch order of an operand's lines."""

from amaranth.lib import data
from amaranth.utils import bits_for, exact_log2

from ....config import MatrixUnitConfig
from ...operation import OperationLimits
from ..dataflows import dataflow_of
from ..tracker import SLOT_WIDTH

__all__ = ["WALK_LOOPS", "fetch_walk", "tile_walk"]

#: Loops of a walk, innermost first.
WALK_LOOPS = ("line", "block", "repeat", "slab", "again")


def fetch_walk(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of a walk over a tile: five nested loops, each given by its last index.

    Lines are `line_step` apart, blocks `block_step`, slabs `slab_step`. A repeat returns to the
    start of its slab. `again` returns to the start of the walk, or to `again_step` lines after its
    last start. In the last slab only `last_count` elements of a line (`by_element`) or lines of a
    block count, the others are +0. With `transpose`, the lines of each block are transposed, and
    the last block of a slab then has `last_keep` lines.
    """
    matrix, limits = config.matrix, OperationLimits(config=config)
    lines = bits_for(max(limits.a_lines, limits.b_lines) - 1)
    blocks = bits_for(max(limits.i_blocks, limits.j_blocks, limits.k_blocks) - 1)
    flow = dataflow_of(matrix)
    # A line of the walk over B spans adjacent column blocks.
    together = flow.together(matrix)
    elements = max(exact_log2(matrix.rows) + blocks, bits_for(together - 1))
    return data.StructLayout({
        "base": lines,
        "line_step": lines,
        "block_step": lines,
        "slab_step": lines,
        "line": elements,
        "block": elements if flow.is_interleaved else blocks,
        "repeat": blocks,
        "slab": blocks,
        "again": blocks,
        **({} if flow.is_interleaved else {"again_step": lines}),
        "by_element": 1,
        "last_count": bits_for(max(matrix.rows, together)),
        "transpose": 1,
        "last_keep": bits_for(matrix.rows),
    })


def tile_walk(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the walk over an operand, and the slot of its operation."""
    return data.StructLayout({"walk": fetch_walk(config), "slot": SLOT_WIDTH})
