"""Command checker: legality of an operation on this machine, and its derived fields."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...isa.memory_map import SHARED_BASE
from ..operation import SCALE_BYTES, OperationLimits, operation
from .extents import Extents, ExtentsSignature
from .state import command_state

__all__ = ["CheckSignature", "CommandChecker"]

MOST_ACTIVATIONS = 1  # 0 none, 1 ReLU


class CheckSignature(wiring.Signature):
    """State of the command words, its check and its operation, seen from the decoder.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    state : Out(command_state)
        Stable from `start` until the operation is accepted.
    start : Out(1)
    illegal : In(1)
        This unit does not support the operation.
    sizes_wrong : In(1)
        A bound is 0 or above its limit, or a pad is a whole block.
    done : In(1)
    extents_wrong : In(1)
        A matrix exceeds the accumulator or shared memory.
    operation : In(operation(config))
    """

    def __init__(self, config: MatrixUnitConfig):
        super().__init__({
            "state": Out(command_state),
            "start": Out(1),
            "illegal": In(1),
            "sizes_wrong": In(1),
            "done": In(1),
            "extents_wrong": In(1),
            "operation": In(operation(config)),
        })


class CommandChecker(Component):
    """Checker of a LOOP_WS, and its operation. All outputs are combinational from `state`.

    `illegal` and `sizes_wrong` are valid at once. `start` then starts the products; after `done`,
    `extents_wrong` and `operation` are valid.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members are those of `CheckSignature`, seen from the other side.
    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__(CheckSignature(config).flip())

    def elaborate(self, platform):
        m = Module()
        state = self.state
        m.submodules.extents = products = Extents(self.config)
        extents: Any = ExtentsSignature(self.config).create()
        connect(m, extents, products)
        m.d.comb += [
            extents.start.eq(self.start),
            extents.i.eq(state.size_i),
            extents.j.eq(state.size_j),
            extents.k.eq(state.size_k),
            self.done.eq(extents.done),
        ]
        self.derive_parts(m)
        self.derive_sizes(m, extents)
        self.derive_rows(m, extents)
        if self.config.matrix.load_d:
            self.derive_d(m)
        self.check_legality(m)
        self.check_sizes(m)
        self.check_extents(m, extents)
        return m

    def derive_parts(self, m: Module):
        """Set the parts of the operation and their options."""
        matrix, state, operation = self.config.matrix, self.state, self.operation
        parts, control = state.parts, state.control
        always_wide = int(not matrix.narrows)
        m.d.comb += [
            operation.load_a.eq(~parts.skip_load_a),
            operation.load_b.eq(~parts.skip_load_b),
            operation.compute.eq(~parts.skip_compute),
            operation.store.eq(~parts.skip_store),
            operation.spill.eq(parts.shared_only),
            operation.accumulate.eq(control.accumulate),
            operation.transpose_a.eq(parts.transpose_a | state.transpose_a),
            operation.transpose_b.eq(parts.transpose_b | state.transpose_b),
            operation.wide.eq(control.full_c | always_wide),
            operation.relu.eq(state.relu | control.activation[0]),
            operation.scale.eq(state.scale),
        ]

    def derive_sizes(self, m: Module, extents: Any):
        """Set sizes and addresses."""
        matrix, state, operation = self.config.matrix, self.state, self.operation
        row_shift, operand_shift = exact_log2(matrix.rows), exact_log2(matrix.operand_bytes)
        m.d.comb += [
            operation.i_blocks.eq(state.size_i),
            operation.j_blocks.eq(state.size_j),
            operation.k_blocks.eq(state.size_k),
            operation.height.eq((state.size_i << row_shift) - state.pad_i),
            operation.width.eq((state.size_j << exact_log2(matrix.columns)) - state.pad_j),
            operation.depth.eq((state.size_k << row_shift) - state.pad_k),
            operation.last_height.eq(matrix.rows - state.pad_i[:row_shift]),
            operation.last_depth.eq(matrix.rows - state.pad_k[:row_shift]),
            operation.a_line.eq(state.a_line),
            operation.b_line.eq(state.b_end - (extents.kj << row_shift)),
            operation.c_line.eq(state.parts.c_row),
            operation.a_address.eq(state.a_address),
            operation.b_address.eq(state.b_address),
            operation.c_address.eq(state.c_address),
            operation.a_pitch.eq(state.a_stride << operand_shift),
            operation.b_pitch.eq(state.b_stride << operand_shift),
            operation.c_pitch.eq(
                Mux(
                    operation.wide,
                    state.c_stride << exact_log2(matrix.wide_bytes),
                    state.c_stride << exact_log2(matrix.narrow_bytes),
                )
            ),
        ]

    def derive_rows(self, m: Module, extents: Any):
        """Set the accumulator rows, and the scales of their rows."""
        matrix, state, operation = self.config.matrix, self.state, self.operation
        row_shift = exact_log2(matrix.rows)
        m.d.comb += [
            operation.base.eq(state.base),
            operation.end.eq(state.base + (extents.ij << row_shift)),
        ]
        if matrix.scales_rows:
            words = matrix.a_bytes // SCALE_BYTES
            lines = operation.height + words - 1 >> exact_log2(words)
            m.d.comb += [
                operation.scale_lines.eq(Mux(state.control.scale_rows, lines, 0)),
                operation.scales_line.eq(state.scales_line),
            ]

    def derive_d(self, m: Module):
        """Set the load of D."""
        state, operation = self.state, self.operation
        above = 32 - exact_log2((1 << 32) - SHARED_BASE)  # bits that shared memory has set
        m.d.comb += [
            operation.load_d.eq(~state.parts.skip_load_d & state.has_d),
            operation.d_shared.eq(state.d_address[-above:].all()),
            operation.d_address.eq(state.d_address),
            operation.d_pitch.eq(state.d_stride << exact_log2(self.config.matrix.wide_bytes)),
        ]

    def refuse_d(self) -> Value:
        """Return whether the command loads D in a way that the unit does not support."""
        state = self.state
        loads = ~state.parts.skip_load_d & state.has_d
        if not self.config.matrix.load_d:
            return loads
        # A compute that overwrites would discard D.
        discards = ~state.parts.skip_compute & ~state.control.accumulate
        return loads & (state.control.low_d | discards)

    def exceed_d(self) -> Value:
        """Return whether D does not begin at a word, or its first row or pitch exceeds memory."""
        operation, shared = self.operation, self.config.shared
        width = operation.width << exact_log2(self.config.matrix.wide_bytes)
        offset = operation.d_address - SHARED_BASE
        beyond = operation.d_shared & (
            (offset + width > shared.size) | (operation.d_pitch > 2 * shared.size - 1)
        )
        return operation.load_d & (operation.d_address[:2].any() | beyond)

    def check_legality(self, m: Module):
        """Refuse operations that this unit does not support."""
        matrix, state, operation = self.config.matrix, self.state, self.operation
        parts, control = state.parts, state.control
        # A block of fewer bytes than a word occupies a whole word, unlike in a 2-D copy.
        pads_a = int(matrix.rows * matrix.operand_bytes < matrix.a_bytes)
        pads_b = int(matrix.columns * matrix.operand_bytes < matrix.b_bytes)
        transposes = operation.transpose_a | operation.transpose_b
        refused = [
            parts.residual_add,
            self.refuse_d(),
            parts.next_accumulator,
            control.spads.any(),
            control.activation > MOST_ACTIVATIONS,
            # Scales are those of rows that are added to.
            state.control.scale_rows
            & (~state.control.accumulate | parts.skip_compute | int(not matrix.scales_rows)),
            operation.load_a & pads_a,
            operation.load_b & pads_b,
            operation.transpose_a & operation.transpose_b,
            transposes & int(matrix.rows != matrix.columns),
            # Rows of B for interleaved tiles would need one transposer each.
            operation.transpose_b & int(matrix.dataflow == "output_stationary"),
        ]
        m.d.comb += self.illegal.eq(Cat(refused).any())

    def check_sizes(self, m: Module):
        """Refuse bounds outside their legal range."""
        matrix, limits, state = (
            self.config.matrix,
            OperationLimits(config=self.config),
            self.state,
        )
        wrong = []
        for axis, limit, block in (
            ("i", limits.i_blocks, matrix.rows),
            ("j", limits.j_blocks, matrix.columns),
            ("k", limits.k_blocks, matrix.rows),
        ):
            size, pad = state[f"size_{axis}"], state[f"pad_{axis}"]
            wrong += [size == 0, size > limit, pad >= block]
        m.d.comb += self.sizes_wrong.eq(Cat(wrong).any())

    def check_extents(self, m: Module, extents: Any):
        """Refuse matrices that exceed their memory."""
        matrix, limits = self.config.matrix, OperationLimits(config=self.config)
        state, operation = self.state, self.operation
        row_shift = exact_log2(matrix.rows)
        wide_lines, narrow_lines = (
            exact_log2(matrix.rows * matrix.columns * size // matrix.a_bytes)
            for size in (matrix.wide_bytes, matrix.narrow_bytes)
        )
        c_lines = Mux(operation.wide, extents.ij << wide_lines, extents.ij << narrow_lines)
        b_lines = extents.kj << row_shift
        loads_d = operation.load_d if matrix.load_d else C(0)
        wrong = [
            (operation.compute | operation.store | loads_d)
            & (state.base + (extents.ij << row_shift) > matrix.accumulator_rows),
            (operation.compute | operation.load_a)
            & (state.a_line + (extents.ik << row_shift) > limits.a_lines),
            (operation.compute | operation.load_b)
            & ((state.b_end > limits.b_lines) | (b_lines > state.b_end)),
            operation.store & operation.spill & (state.parts.c_row + c_lines > limits.a_lines),
        ]
        if matrix.scales_rows:
            too_many = operation.height > limits.scaled_rows
            beyond = state.scales_line + operation.scale_lines > limits.a_lines
            wrong.append(state.control.scale_rows & (too_many | beyond))
        if matrix.load_d:
            wrong.append(self.exceed_d())
        m.d.comb += self.extents_wrong.eq(Cat(wrong).any())
