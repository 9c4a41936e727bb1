"""Fetch order of an operand's lines."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import bits_for, exact_log2

from ...config import MatrixUnitConfig
from ..operation import OperationLimits, output_groups

__all__ = ["WALK_LOOPS", "fetch_walk", "form_walks"]

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
    stationary_outputs = matrix.dataflow == "output_stationary"
    # A line of the walk over B spans adjacent column blocks.
    together = matrix.element_latency if stationary_outputs else 1
    elements = max(exact_log2(matrix.rows) + blocks, bits_for(together - 1))
    return data.StructLayout({
        "base": lines,
        "line_step": lines,
        "block_step": lines,
        "slab_step": lines,
        "line": elements,
        "block": elements if stationary_outputs else blocks,
        "repeat": blocks,
        "slab": blocks,
        "again": blocks,
        **({} if stationary_outputs else {"again_step": lines}),
        "by_element": 1,
        "last_count": bits_for(max(matrix.rows, together)),
        "transpose": 1,
        "last_keep": bits_for(matrix.rows),
    })


def form_walks(config: MatrixUnitConfig, operation, a, b):
    """Return the assignments of the walks of A and B for `operation`."""
    if config.matrix.dataflow == "weight_stationary":
        return weight_stationary_walks(config, operation, a, b)
    return output_stationary_walks(config, operation, a, b)


def weight_stationary_walks(config, operation, a, b):
    """Return the walks of A and B in the order column block, k-block, row."""
    matrix = config.matrix
    row_shift = exact_log2(matrix.rows)
    turned_a, turned_b = operation.transpose_a, operation.transpose_b
    i_last, j_last, k_last = (operation[name] - 1 for name in ("i_blocks", "j_blocks", "k_blocks"))
    return [
        a.base.eq(operation.a_line),
        a.line_step.eq(Mux(turned_a, operation.i_blocks, operation.k_blocks)),
        a.block_step.eq(1),
        a.slab_step.eq(Mux(turned_a, operation.i_blocks << row_shift, 1)),
        a.line.eq(Mux(turned_a, matrix.rows - 1, operation.height - 1)),
        a.block.eq(Mux(turned_a, i_last, 0)),
        a.repeat.eq(0),
        a.slab.eq(k_last),
        a.again.eq(j_last),
        a.again_step.eq(0),
        a.by_element.eq(~turned_a),
        a.last_count.eq(operation.last_depth),
        a.transpose.eq(turned_a),
        a.last_keep.eq(operation.last_height),
        b.base.eq(operation.b_line),
        b.line_step.eq(Mux(turned_b, operation.k_blocks, operation.j_blocks)),
        b.block_step.eq(0),
        b.slab_step.eq(Mux(turned_b, 1, operation.j_blocks << row_shift)),
        b.line.eq(matrix.rows - 1),  # only square arrays transpose
        b.block.eq(0),
        b.repeat.eq(0),
        b.slab.eq(k_last),
        b.again.eq(j_last),
        b.again_step.eq(Mux(turned_b, operation.k_blocks << row_shift, 1)),
        b.by_element.eq(turned_b),
        b.last_count.eq(operation.last_depth),
        b.transpose.eq(turned_b),
        b.last_keep.eq(matrix.rows),
    ]


def output_stationary_walks(config, operation, a, b):
    """Return the walks in the order column group, row block, k, and for B block of the group."""
    matrix = config.matrix
    row_shift, tiles = exact_log2(matrix.rows), matrix.element_latency
    groups, last_tiles = output_groups(config, operation.j_blocks)
    turned = operation.transpose_a
    return [
        a.base.eq(operation.a_line),
        a.line_step.eq(Mux(turned, operation.i_blocks, operation.k_blocks)),
        a.block_step.eq(1),
        a.slab_step.eq(Mux(turned, 1, operation.k_blocks << row_shift)),
        a.line.eq(Mux(turned, operation.depth - 1, matrix.rows - 1)),
        a.block.eq(Mux(turned, 0, operation.k_blocks - 1)),
        a.repeat.eq(0),
        a.slab.eq(operation.i_blocks - 1),
        a.again.eq(groups - 1),
        a.by_element.eq(turned),
        a.last_count.eq(operation.last_height),
        a.transpose.eq(~turned),
        a.last_keep.eq(operation.last_depth),
        b.base.eq(operation.b_line),
        b.line_step.eq(1),
        b.block_step.eq(operation.j_blocks),
        b.slab_step.eq(tiles),
        b.line.eq(tiles - 1),
        b.block.eq(operation.depth - 1),
        b.repeat.eq(operation.i_blocks - 1),
        b.slab.eq(groups - 1),
        b.again.eq(0),
        b.by_element.eq(0),
        b.last_count.eq(last_tiles),
        b.transpose.eq(0),
        b.last_keep.eq(matrix.rows),
    ]
