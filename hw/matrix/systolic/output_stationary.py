"""Output-stationary dataflow: sums stay in the array, columns of A meet rows of B."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import exact_log2

from ...config import MatrixUnitConfig, SystolicConfig
from ..operation import OperationLimits, output_groups
from .dataflow import Dataflow
from .processing_element import multiply_add_config, output_slots

__all__ = ["OutputStationary", "array_step", "output_stationary_latency"]


def array_step(config: SystolicConfig) -> data.StructLayout:
    """Layout of one step of an output tile: a column of A, a row of B, stored operands.

    `first` begins a tile and `last` ends it. The `last` step gives the destination of the sums:
    accumulator rows from `address` on, to which they are added with `accumulate`.
    """
    return data.StructLayout({
        "a": data.ArrayLayout(config.operand_format.width, config.rows),
        "b": data.ArrayLayout(config.operand_format.width, config.columns),
        "first": 1,
        "last": 1,
        "address": config.accumulator_address_width,
        "accumulate": 1,
    })


def output_stationary_latency(config: SystolicConfig) -> int:
    """Return the cycles from the offer of a tile's last step to the sums of its row 0."""
    latency = config.element_latency
    leaving = output_slots(multiply_add_config(config)) - 1
    return 2 + latency + leaving + config.columns - 1


class OutputStationary(Dataflow):
    """Output-stationary dataflow; the loops are group of column blocks, row block, step along K."""

    drains_in_order = False
    is_interleaved = True

    def operands(self, config: SystolicConfig) -> dict[str, data.StructLayout]:
        """Return the layout of a step."""
        return {"step": array_step(config)}

    def write_latency(self, config: SystolicConfig) -> int:
        """Return the cycles from the last step of a tile to the sums of its last row."""
        leaving = (config.rows - 1) * output_slots(multiply_add_config(config))
        return output_stationary_latency(config) + leaving

    def loops(self, config: MatrixUnitConfig) -> dict[str, int]:
        """Return the loops over steps, row blocks and groups; and the tiles of the last group."""
        limits = OperationLimits(config=config)
        steps = limits.k_blocks * config.matrix.rows
        return {"step": steps, "i_block": limits.i_blocks, "group": limits.j_blocks}

    def form_loops(self, config: MatrixUnitConfig, operation: data.View, work: data.View) -> list:
        """Return the assignments of the loops of `work`."""
        groups, last_tiles = output_groups(config, operation.j_blocks)
        return [
            work.step.eq(operation.depth - 1),
            work.i_block.eq(operation.i_blocks - 1),
            work.group.eq(groups - 1),
            work.last_tiles.eq(last_tiles),
        ]

    def form_walks(
        self, config: MatrixUnitConfig, operation: data.View, a: data.View, b: data.View
    ) -> list:
        """Return the walks in the order group, row block, k, and for B block of the group."""
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

    def fetches(self, config: MatrixUnitConfig) -> dict[str, dict]:
        """Return the fetches: rows of B enter in groups, the next is requested meanwhile."""
        depth = config.shared.read_latency + max(7, self.together(config.matrix) + 3)
        return {
            "a": {"depth": depth, "can_transpose": True},
            "b": {"depth": depth, "can_transpose": False},
        }
