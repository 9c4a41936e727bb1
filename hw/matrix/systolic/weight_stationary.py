"""Weight-stationary dataflow: weights stay in the array, rows of A pass through it."""

from amaranth import *
from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ...config import MatrixUnitConfig, SystolicConfig
from ..operation import OperationLimits
from .dataflow import Dataflow

__all__ = ["WeightStationary", "array_row", "array_weights", "weight_stationary_latency"]


def array_row(config: SystolicConfig) -> data.StructLayout:
    """Layout of a row of A: stored operands, with the sums' accumulator row `address`.

    `accumulate` adds the sums to that row, multiplied by its scale if `scaled`. `swap` activates
    the weights loaded last, in the first row of a pass.
    """
    return data.StructLayout({
        "a": data.ArrayLayout(config.operand_format.width, config.rows),
        "swap": 1,
        "address": config.accumulator_address_width,
        "accumulate": 1,
        **({"scaled": 1} if config.scales_rows else {}),
    })


def array_weights(config: SystolicConfig) -> data.StructLayout:
    """Layout of a row of weights: stored operands for array row `row`."""
    return data.StructLayout({
        "b": data.ArrayLayout(config.operand_format.width, config.columns),
        "row": ceil_log2(config.rows),
    })


def weight_stationary_latency(config: SystolicConfig) -> int:
    """Return the cycles from the offer of a row of A to its sums."""
    return 4 + config.rows * config.element_latency + config.columns - 1


class WeightStationary(Dataflow):
    """Weight-stationary dataflow; the loops are column block, k-block, row."""

    drains_in_order = True
    is_interleaved = False

    def operands(self, config: SystolicConfig) -> dict[str, data.StructLayout]:
        """Return the layouts of a row of A and of a row of weights."""
        return {"row": array_row(config), "weights": array_weights(config)}

    def write_latency(self, config: SystolicConfig) -> int:
        """Return the cycles from the offer of a row of A to its sums."""
        return weight_stationary_latency(config)

    def loops(self, config: MatrixUnitConfig) -> dict[str, int]:
        """Return the loops over rows of A, column blocks and k-blocks."""
        limits = OperationLimits(config=config)
        rows = limits.i_blocks * config.matrix.rows
        return {"row": rows, "block": limits.j_blocks, "k_block": limits.k_blocks}

    def form_loops(self, config: MatrixUnitConfig, operation: data.View, work: data.View) -> list:
        """Return the assignments of the loops of `work`."""
        return [
            work.row.eq(operation.height - 1),
            work.block.eq(operation.j_blocks - 1),
            work.k_block.eq(operation.k_blocks - 1),
        ]

    def form_walks(
        self, config: MatrixUnitConfig, operation: data.View, a: data.View, b: data.View
    ) -> list:
        """Return the walks of A and B in the order column block, k-block, row."""
        matrix = config.matrix
        row_shift = exact_log2(matrix.rows)
        turned_a, turned_b = operation.transpose_a, operation.transpose_b
        i_last, j_last, k_last = (
            operation[name] - 1 for name in ("i_blocks", "j_blocks", "k_blocks")
        )
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

    def fetches(self, config: MatrixUnitConfig) -> dict[str, dict]:
        """Return the fetches: B is fetched a tile ahead; only square arrays transpose."""
        matrix = config.matrix
        reach, square = config.shared.read_latency + 7, matrix.rows == matrix.columns
        return {
            "a": {"depth": reach, "can_transpose": square},
            "b": {"depth": max(reach, 2 * matrix.rows), "can_transpose": square},
        }
