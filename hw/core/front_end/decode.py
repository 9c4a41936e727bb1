"""Instruction decoder: from an instruction word to its port, operation and operands."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import *
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...arith.float.rounding import DYNAMIC, Rounding
from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.encoding import REGISTER_FIELDS
from ...isa.instructions import ORDERING_BIT
from ...isa.operations import (
    OPERATION_WIDTH,
    ControlOperation,
    Port,
    RegisterGroups,
)
from ...lib.interfaces.execution_unit import OPERANDS, REGISTER_WIDTH, REGISTERS
from ..layouts import decoded_layout, group_fields, product_field
from .decode_table import EXIT_CODE_REGISTER, RULES, Rule

__all__ = ["Decode"]


class ImmediateFormat(enum.Enum, shape=3):
    """Layout of the immediate in the instruction word."""

    I = 0  # noqa: E741  # its name in the manual
    S = 1
    B = 2
    U = 3
    J = 4
    CSR = 5
    WORD = 6


#: A bit for each rounding mode: whether it is reserved.
RESERVED_ROUNDINGS = Const(sum(1 << mode for mode in range(len(Rounding), DYNAMIC)), 8)


def atomic_fields(config: PipelineConfig) -> dict[str, int]:
    """Return the fields of a decode result with atomics: on them, and on rd as operand 2."""
    return {"is_atomic": 1, "reads_rd": 1} if config.atomics else {}


def choice_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a decode result without operand fields.

    ``is_float`` has a bit for each of rd, rs1, rs2, rs3, and so have the fields on groups: the
    ``first`` register of a group, if it is ``fixed``, and whether rd selects the group
    (``selected``).
    """
    fields = group_fields(config)
    if fields:
        first = data.ArrayLayout(REGISTER_WIDTH, len(REGISTER_FIELDS))
        fields |= {"fixed": len(REGISTER_FIELDS), "selected": len(REGISTER_FIELDS), "first": first}
    return data.StructLayout({
        "port": Port,
        "operation": OPERATION_WIDTH,
        "format": ImmediateFormat,
        "has_rd": 1,
        "has_source": 3,
        "is_float": 4,
        "rounds": 1,
        "reads_exit_code": 1,
        "a_is_pc": 1,
        "b_is_immediate": 1,
        "stalls_warp": 1,
        "serialises": 1,
        **atomic_fields(config),
        **product_field(config),
        **fields,
    })


ILLEGAL: dict[int | str, Any] = {
    "port": Port.CONTROL,
    "operation": ControlOperation.ILLEGAL,
    "format": ImmediateFormat.WORD,
    "stalls_warp": 1,
    "serialises": 1,
}


def choice_of(rule: Rule, config: PipelineConfig) -> dict:
    """Return the fields of `choice_layout` for one instruction."""
    spans = rule.groups(config.threads)
    groups = spans.by_field if spans else {}
    reads = (*rule.reads[:2], rule.reads[2] or rule.reads_rd)
    return {
        "port": rule.port,
        "operation": rule.operation,
        "format": ImmediateFormat[rule.immediate.upper()],
        "has_rd": "rd" in rule.instruction.registers or 0 in groups,
        "has_source": sum((one or 1 + k in groups) << k for k, one in enumerate(reads)),
        "is_float": sum(rule.is_float(field) << k for k, field in enumerate(REGISTER_FIELDS)),
        "rounds": rule.rounds,
        "reads_exit_code": rule.reads_exit_code,
        "a_is_pc": rule.a_is_pc,
        "b_is_immediate": rule.b_is_immediate,
        "stalls_warp": rule.stalls_warp,
        "serialises": rule.serialises,
        **{name: getattr(rule, name) for name in atomic_fields(config)},
        **dict.fromkeys(product_field(config), rule.awaits_products),
        **(group_choice(spans) if spans else {}),
    }


def group_choice(groups: RegisterGroups) -> dict:
    """Return the fields of `choice_layout` on register groups."""
    by_field = groups.by_field
    return {
        "grouped": sum(1 << k for k in by_field),
        "last": groups.size - 1,
        "fixed": sum(1 << k for k, group in by_field.items() if group.first is not None),
        "selected": sum(group.is_selected << k for k, group in by_field.items()),
        "first": [
            (by_field[k].first or 0) if k in by_field else 0 for k in range(len(REGISTER_FIELDS))
        ],
    }


def fixed_register(chosen: data.View, field: int, rd: Value, sizes: list[int]) -> Value:
    """Return the first register of a fixed group, the one selected by `rd` if there are several.

    It is at least ``REGISTERS`` if there is no such register.
    """
    steps = [Mux(chosen.last == size - 1, rd << exact_log2(size), 0) for size in sizes]
    return chosen.first[field] + Mux(chosen.selected[field], reduce(or_, steps), 0)


class Decode(SharedBlock):
    """Instruction decoder for one word. Combinational.

    Undefined words, instructions for a port or an operation that the core lacks, reserved static
    rounding modes, register groups whose encoded register is not a multiple of their size or whose
    selected register does not exist, and failed fetches decode to `ControlOperation.ILLEGAL` with
    the word as ``immediate``; ``a_is_pc`` marks a failed fetch. Immediates are sign-extended and
    aligned. Shifts use the lower five bits. For a control register, bits 11:0 are its number and
    bits 16:12 the rs1 field, in both forms. For an atomic operation, bits 11:7 are its
    `AtomicOperation` and bits 6:5 its ordering; a compare-and-swap reads rd as operand 2, and a
    release serialises. For one on a transaction barrier, bits 11:5 are its `BarrierOperation`.
    Instructions that may end a warp (``vx_tmc``, ``vx_pred``, ``ecall`` and ``ebreak``) read the
    exit code, x3, as operand 2.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    word : In(32)
    pc : In(32)
    failed : In(1)
        The fetch failed: there is no memory at `pc`.
    o : Out(decoded_layout(config))
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "word": In(32),
            "pc": In(32),
            "failed": In(1),
            "o": Out(decoded_layout(config)),
        })

    def build(self, platform):
        m = Module()
        layout = choice_layout(self.config)
        choice = Signal(layout, init=ILLEGAL)
        self.connect_table(m, choice)
        rounding = self.word[12:15]
        is_reserved = RESERVED_ROUNDINGS.bit_select(rounding, 1)
        rd, rs1, rs2, rs3 = fields = [self.word[low : low + 5] for low in REGISTER_FIELDS.values()]
        is_refused = self.failed | (choice.rounds & is_reserved)
        sizes = self.config.group_sizes
        if sizes:
            is_encoded = choice.grouped & ~choice.fixed
            offsets = [(field & choice.last).any() for field in fields]
            beyond = [
                choice.selected[k] & (fixed_register(choice, k, rd, sizes) >= REGISTERS)
                for k in range(len(fields))
            ]
            is_refused |= (is_encoded & Cat(offsets)).any() | Cat(beyond).any()
        chosen = Signal(layout)
        m.d.comb += chosen.eq(Mux(is_refused, layout.const(ILLEGAL), choice))
        self.extend_immediate(m, chosen)

        serialises = chosen.serialises
        if self.config.atomics:
            rs3 = Mux(chosen.reads_rd, rd, rs3)
            fields = [rd, rs1, rs2, rs3]
            releases, acquires = self.word[ORDERING_BIT], self.word[ORDERING_BIT + 1]
            serialises = serialises | (chosen.is_atomic & releases)
            m.d.comb += self.o.acquires.eq(chosen.is_atomic & acquires)
        is_float = chosen.is_float
        exit_code = Mux(chosen.reads_exit_code, EXIT_CODE_REGISTER, 0)
        numbers = [
            Cat(field, is_float[k]) for k, field in enumerate((rd, rs1, rs2, rs3 | exit_code))
        ]
        # x0 is neither read nor written.
        named = [field.any() | is_float[k] for k, field in enumerate(fields)]
        if sizes:
            numbers = [
                Mux(chosen.fixed[k], fixed_register(chosen, k, rd, sizes), number)
                for k, number in enumerate(numbers)
            ]
            named = [is_named | chosen.fixed[k] for k, is_named in enumerate(named)]
            m.d.comb += [self.o.grouped.eq(chosen.grouped), self.o.last.eq(chosen.last)]
        m.d.comb += [
            self.o.pc.eq(self.pc),
            self.o.port.eq(chosen.port),
            self.o.operation.eq(chosen.operation),
            self.o.rd.eq(numbers[0]),
            self.o.writes.eq(chosen.has_rd & named[0]),
            *(self.o.sources[k].eq(numbers[1 + k]) for k in range(OPERANDS)),
            self.o.reads.eq((chosen.has_source & Cat(named[1:])) | (chosen.reads_exit_code << 2)),
            self.o.rounding.eq(Mux(chosen.rounds, rounding, 0)),
            self.o.a_is_pc.eq(chosen.a_is_pc | self.failed),
            self.o.b_is_immediate.eq(chosen.b_is_immediate),
            self.o.stalls_warp.eq(chosen.stalls_warp),
            self.o.serialises.eq(serialises),
            *(self.o[name].eq(chosen[name]) for name in product_field(self.config)),
        ]
        return m

    def connect_table(self, m: Module, choice: data.View):
        """Set `choice` to the decode result of the word, if it is an instruction."""
        layout = choice_layout(self.config)
        opcodes: dict[int, list[Rule]] = {}
        for rule in RULES.values():
            if not self.config.executes(rule.port, rule.operation):
                continue
            opcodes.setdefault(rule.instruction.match & 0x7F, []).append(rule)
        with m.Switch(self.word[:7]):
            for opcode, rules in opcodes.items():
                with m.Case(opcode), m.Switch(self.word[7:]):
                    for rule in rules:
                        mask, match = rule.instruction.mask, rule.instruction.match
                        pattern = "".join(
                            str(match >> bit & 1) if mask >> bit & 1 else "-"
                            for bit in range(31, 6, -1)
                        )
                        with m.Case(pattern):
                            m.d.comb += choice.eq(layout.const(choice_of(rule, self.config)))

    def extend_immediate(self, m: Module, chosen: data.View):
        """Assemble the immediate by the format of `chosen`."""
        word, sign = self.word, self.word[31]
        with m.Switch(chosen.format):
            with m.Case(ImmediateFormat.I):
                immediate = Cat(word[20:31], sign.replicate(21))
                m.d.comb += self.o.immediate.eq(immediate)
            with m.Case(ImmediateFormat.S):
                immediate = Cat(word[7:12], word[25:31], sign.replicate(21))
                m.d.comb += self.o.immediate.eq(immediate)
            with m.Case(ImmediateFormat.B):
                immediate = Cat(Const(0, 1), word[8:12], word[25:31], word[7], sign.replicate(20))
                m.d.comb += self.o.immediate.eq(immediate)
            with m.Case(ImmediateFormat.U):
                m.d.comb += self.o.immediate.eq(Cat(Const(0, 12), word[12:]))
            with m.Case(ImmediateFormat.J):
                immediate = Cat(Const(0, 1), word[21:31], word[20], word[12:20], sign.replicate(12))
                m.d.comb += self.o.immediate.eq(immediate)
            with m.Case(ImmediateFormat.CSR):
                m.d.comb += self.o.immediate.eq(Cat(word[20:], word[15:20]))
            with m.Default():
                m.d.comb += self.o.immediate.eq(word)
