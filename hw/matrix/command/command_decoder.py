"""Decoder of command words into checked operations: RoCC functions and both CISC maps."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...isa.commands import (
    CISC_MAPS,
    FLOAT_ONE,
    CiscCommand,
    CiscKind,
    ConfigKind,
    Function,
    bounds_pads,
    bounds_sizes,
    cisc_strides,
    cisc_word,
    config_execute,
    config_store,
    config_store_scale,
    loop_control,
    loop_parts,
    rocc_layout,
    rocc_word,
)
from ..operation import operation
from .command_checker import CheckSignature, CommandChecker
from .state import ROW_WIDTH, command_state

__all__ = ["CommandDecoder", "command_word"]

OPCODE = rocc_word(0) & 0x7F
HEXADECILES = 16

#: Layout of one command: a CISC word, or a RoCC word with its operands.
command_word = data.StructLayout({"cisc": 1, "word": 32, "rs1": 64, "rs2": 64})


class CommandDecoder(Component):
    """Command decoder: words to operations, in order, with the state set by earlier words.

    A word that only sets state takes 1 cycle. A word that starts an operation is offered on `o`
    within ``4 + log2(largest of its I and J)`` cycles and is accepted together with `o`. A
    refused word is accepted with `illegal` or `out_of_range` and changes nothing. A CISC word
    acts as the RoCC words it stands for: if its LOOP_WS is refused, its BOUNDS and SPAD_AB
    stay set.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    i : In(stream.Signature(command_word))
    o : Out(stream.Signature(operation(config)))
    illegal : Out(1)
        The word is accepted and refused: unknown, or not supported by this unit.
    out_of_range : Out(1)
        The word is accepted and refused: a size or address does not fit.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(command_word)),
            "o": Out(stream.Signature(operation(config))),
            "illegal": Out(1),
            "out_of_range": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        state = Signal(
            command_state,
            init={"scale": FLOAT_ONE},
        )
        is_loop = Signal()
        refuse_word = Signal()
        refuse_value = Signal()
        m.submodules.check = checker = CommandChecker(self.config)
        check: Any = CheckSignature(self.config).create()
        connect(m, check, checker)
        m.d.comb += [check.state.eq(state), self.o.payload.eq(check.operation)]

        with m.FSM():
            with m.State("DECODE"), m.If(self.i.valid):
                with m.If(self.i.p.cisc):
                    self.decode_cisc(m, state, is_loop, refuse_word)
                with m.Else():
                    self.decode_rocc(m, state, is_loop, refuse_word, refuse_value)
                m.d.comb += [
                    self.i.ready.eq(~is_loop),
                    self.illegal.eq(refuse_word),
                    self.out_of_range.eq(refuse_value),
                ]
                with m.If(is_loop):
                    m.next = "SIZES"
            with m.State("SIZES"):
                m.d.comb += check.start.eq(1)
                m.next = "EXTENTS"
                with m.If(check.illegal | check.sizes_wrong):
                    m.d.comb += [
                        self.i.ready.eq(1),
                        self.illegal.eq(check.illegal),
                        self.out_of_range.eq(~check.illegal),
                    ]
                    m.next = "DECODE"
            with m.State("EXTENTS"), m.If(check.done):
                m.next = "OFFER"
                with m.If(check.extents_wrong):
                    m.d.comb += [self.i.ready.eq(1), self.out_of_range.eq(1)]
                    m.next = "DECODE"
            with m.State("OFFER"):
                m.d.comb += [self.o.valid.eq(1), self.i.ready.eq(self.o.ready)]
                with m.If(self.o.ready):
                    m.next = "DECODE"
        return m

    def decode_rocc(
        self,
        m: Module,
        state: data.View,
        is_loop: Signal,
        refuse_word: Signal,
        refuse_value: Signal,
    ):
        """Execute a RoCC word; set `is_loop` if it starts an operation."""
        matrix, rs1, rs2 = self.config.matrix, self.i.p.rs1, self.i.p.rs2
        word = data.View(rocc_layout, self.i.p.word)
        pads, sizes = data.View(bounds_pads, rs1), data.View(bounds_sizes, rs2)
        too_long = (rs1[32:] | rs2[32:]).any()
        stride_too_long = too_long | (rs1[30:32] | rs2[30:32]).any()

        def set_pair(first: Value, second: Value, refused: Value):
            m.d.comb += refuse_value.eq(refused)
            with m.If(~refused):
                m.d.sync += [target.eq(source) for target, source in ((first, rs1), (second, rs2))]

        with m.Switch(Mux(word.opcode == OPCODE, word.function, ~0)):
            with m.Case(Function.CONFIG):
                self.decode_config(m, state, refuse_word)
            with m.Case(Function.FLUSH):
                pass
            with m.Case(Function.LOOP_WS):
                m.d.comb += is_loop.eq(1)
                m.d.sync += [state.control.eq(rs1), state.parts.eq(rs2)]
            with m.Case(Function.BOUNDS):
                for axis in "ijk":
                    m.d.sync += [
                        state[f"pad_{axis}"].eq(pads[axis]),
                        state[f"size_{axis}"].eq(sizes[axis]),
                    ]
            with m.Case(Function.ADDRESSES_AB):
                set_pair(state.a_address, state.b_address, too_long)
            with m.Case(Function.ADDRESSES_DC):
                refused = too_long if matrix.load_d else rs2[32:].any()
                m.d.comb += refuse_value.eq(refused)
                with m.If(~refused):
                    m.d.sync += [state.has_d.eq(rs1.any()), state.c_address.eq(rs2)]
                    m.d.sync += state.d_address.eq(rs1) if matrix.load_d else []
            with m.Case(Function.STRIDES_AB):
                set_pair(state.a_stride, state.b_stride, stride_too_long)
            with m.Case(Function.STRIDES_DC):
                refused = stride_too_long if matrix.load_d else rs2[30:].any()
                m.d.comb += refuse_value.eq(refused)
                with m.If(~refused):
                    m.d.sync += state.c_stride.eq(rs2)
                    m.d.sync += state.d_stride.eq(rs1) if matrix.load_d else []
            with m.Case(Function.SPAD_AB):
                set_pair(state.a_line, state.b_end, too_long)
            with m.Case(Function.ACCUMULATOR):
                row_too_high = (rs1[ROW_WIDTH:] | rs2[ROW_WIDTH:]).any()
                set_pair(state.base, state.scales_line, row_too_high)
            with m.Default():
                m.d.comb += refuse_word.eq(1)

    def decode_config(self, m: Module, state: data.View, refuse_word: Signal):
        """Execute a CONFIG word."""
        matrix = self.config.matrix
        execute = data.View(config_execute, self.i.p.rs1)
        store = data.View(config_store, self.i.p.rs1)
        scale = data.View(config_store_scale, self.i.p.rs2).scale
        stationary = int(matrix.dataflow == "weight_stationary")

        with m.Switch(execute.kind):
            with m.Case(ConfigKind.EXECUTE), m.If(~execute.strides_only):
                with m.If(execute.weight_stationary != stationary):
                    m.d.comb += refuse_word.eq(1)
                with m.Else():
                    m.d.sync += [
                        state.transpose_a.eq(execute.transpose_a),
                        state.transpose_b.eq(execute.transpose_b),
                    ]
            with m.Case(ConfigKind.LOAD):
                pass
            with m.Case(ConfigKind.STORE):
                unscalable = 0 if matrix.scales else scale != FLOAT_ONE
                with m.If((store.activation > 1) | (store.pooling != 0) | unscalable):
                    m.d.comb += refuse_word.eq(1)
                with m.Else():
                    m.d.sync += [state.relu.eq(store.activation), state.scale.eq(scale)]
            with m.Default():
                m.d.comb += refuse_word.eq(1)

    def decode_cisc(self, m: Module, state: data.View, is_loop: Signal, refuse_word: Signal):
        """Execute a CISC word; set `is_loop` if it starts an operation."""
        matrix = self.config.matrix
        word = data.View(cisc_word, self.i.p.word)
        strides = data.View(cisc_strides, self.i.p.word)
        m_extent, n_extent, k_extent = matrix.tile
        can_be_square = m_extent % matrix.columns == 0

        with m.Switch(Mux(word.unit == 0, word.operation, ~0)):
            for code, command in CISC_MAPS[matrix.cisc_map].items():
                with m.Case(code):
                    if command.kind is CiscKind.STRIDES_AB:
                        m.d.sync += [
                            state.a_stride.eq(strides.first),
                            state.b_stride.eq(strides.second),
                        ]
                    elif command.kind is CiscKind.STRIDES_DC:
                        m.d.sync += state.c_stride.eq(strides.second)
                        m.d.sync += state.d_stride.eq(strides.first) if matrix.load_d else []
                    elif command.kind is CiscKind.CONFIG:
                        m.d.sync += [
                            state.relu.eq(0),
                            state.scale.eq(FLOAT_ONE),
                            state.transpose_a.eq(0),
                            state.transpose_b.eq(0),
                            state.base.eq(0),
                        ]
                    else:
                        self.set_loop(m, state, command, word)
                        m.d.comb += is_loop.eq(1 if can_be_square else ~word.square)
                        m.d.comb += refuse_word.eq(0 if can_be_square else word.square)
            with m.Default():
                m.d.comb += refuse_word.eq(1)

        with m.If(is_loop):
            square_j = m_extent // matrix.columns
            m.d.sync += [
                state.size_i.eq(m_extent // matrix.rows),
                state.size_j.eq(Mux(word.square, square_j, n_extent // matrix.columns)),
                state.size_k.eq(Mux(word.square, m_extent, k_extent) // matrix.rows),
                state.pad_i.eq(0),
                state.pad_j.eq(0),
                state.pad_k.eq(0),
            ]

    def set_loop(self, m: Module, state: data.View, command: CiscCommand, word: data.View):
        """Set the state of SPAD_AB and LOOP_WS for one CISC command."""
        matrix, size = self.config.matrix, exact_log2(self.config.shared.size)

        def line(count: Value, parts: int, access: int):
            """Return `count` parts of shared memory, in accesses of `access` bytes."""
            return (count << size) >> exact_log2(parts * access)

        if command.operands:
            a, b = (word.a, word.b + 1) if command.quarters is None else map(C, command.quarters)
            parts = HEXADECILES if command.quarters is None else 4
            m.d.sync += [
                state.a_line.eq(line(a, parts, matrix.a_bytes)),
                state.b_end.eq(line(b, parts, matrix.b_bytes)),
            ]
        accumulate = word.c[0] if command.accumulate is None else command.accumulate
        m.d.sync += [
            state.control.eq(data.Const(loop_control, 0)),
            state.control.accumulate.eq(accumulate),
            state.parts.eq(data.Const(loop_parts, command.parts)),
        ]
        if command.c_byte is not None:
            c_line = line(word[command.c_byte], HEXADECILES, matrix.a_bytes)
            m.d.sync += state.parts.c_row.eq(c_line)
