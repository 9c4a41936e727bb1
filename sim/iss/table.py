"""Generated C++ header of the instruction-set model: instructions, CSRs, reasons, addresses."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...hw.config import PipelineConfig
from ...hw.core.front_end.decode_table import RULES, Rule
from ...hw.isa import memory_map as address_map
from ...hw.isa.csr import COUNTER_NUMBERS, CSRS, Csr
from ...hw.isa.encoding import IMMEDIATES, Immediate, RegisterClass
from ...hw.isa.instructions import INSTRUCTIONS, ORDERING_BIT, Instruction
from ...hw.isa.operations import EXCHANGES, Port
from ...hw.isa.progress import progress_of
from ...hw.isa.transaction_barrier import (
    BARRIER_BYTES,
    BARRIER_LAYOUT,
    BARRIER_MARK,
    MOST_ARRIVALS,
    MOST_TRANSACTION_BYTES,
    BarrierFault,
    BarrierOperation,
)
from .faults import REASONS
from .outcome import STOPS
from .styles.registry import STYLES, unit_bit

__all__ = ["camel", "header", "units_of"]

#: Bit of votes and shuffles in the patterns of instructions, after those of tensor units.
EXCHANGE_UNIT = 1 << len(STYLES)
#: Constants that the model uses: of the address map, the instructions, and the styles of tensor
#: units.
ADDRESSES = (
    *("DRAM_BASE", "DRAM_END", "SHARED_BASE", "WINDOW_BYTES", "DMA_BASE", "MATRIX_BASE"),
    *("CLUSTER_WINDOWS", "CLUSTER_WINDOW_BYTES"),
    *("CONSOLE_BASE", "CONSOLE_LANES", "MATRIX_STRIDE", "INSTRUCTION_OFFSET", "CISC_OFFSET"),
    *("COUNTER_DUMP", "COUNTER_DUMP_BYTES"),
)
CONSTANTS = {name: getattr(address_map, name) for name in ADDRESSES}
CONSTANTS["EXCHANGE_UNIT"] = EXCHANGE_UNIT
CONSTANTS["ORDERING_BIT"] = ORDERING_BIT
CONSTANTS |= {
    "BARRIER_BYTES": BARRIER_BYTES,
    "BARRIER_MARK": BARRIER_MARK,
    "MOST_ARRIVALS": MOST_ARRIVALS,
    "MOST_TRANSACTION_BYTES": MOST_TRANSACTION_BYTES,
}
for style in STYLES.values():
    CONSTANTS |= style.constants
#: Registers of a DMA port, and of a matrix unit, that warps can wait for.
PROGRESS_OFFSETS = {
    name: [registers[register].offset for register in progress_of(registers)]
    for name, registers in (
        ("kDmaProgress", address_map.DMA),
        ("kUnitProgress", address_map.UNIT_REGISTERS),
    )
}
#: Immediates that are separate fields, not the immediate operand of an instruction.
FIELDS = ("rm", "zimm", "pred", "succ")
#: A core without tensor unit, exchanges, atomics and transaction barriers, one with the latter two,
#: one with wide groups of registers.
PLAIN, WIDE = (
    PipelineConfig(warp_operations=False, awaits_units=True),
    PipelineConfig(warp_operations=False, threads=32),
)
OPTIONS = ("atomics", "transaction_barriers")
MEMORY = replace(PLAIN, **dict.fromkeys(OPTIONS, True))
ROWS = {RegisterClass.INTEGER: "integer", RegisterClass.FLOAT: "floating"}
HEAD = """\
// Generated from the instruction table and the address map.
#pragma once
#include <cstdint>

namespace spica {
"""


def camel(name: str) -> str:
    """Return a name as a C++ enumerator: ``fmadd.s`` becomes ``FmaddS``."""
    words = name.replace(".", "_").lower().split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)


def enumeration(name: str, items: Iterable[str], kind: str) -> str:
    """Return the C++ of an enum class."""
    return f"enum class {name} : {kind} {{ {', '.join(items)} }};\n"


def immediate_case(name: str, immediate: Immediate) -> str:
    """Return the decoder case that assembles an immediate from its pieces."""
    pieces = [
        f"(word >> {place} & {(1 << width) - 1:#x}u) << {low}"
        for place, width, low in immediate.pieces
    ]
    number = " | ".join(pieces)
    if immediate.is_signed:
        unused = 32 - immediate.width
        shifted = f"static_cast<int32_t>(({number}) << {unused}) >> {unused}"
        number = f"static_cast<uint32_t>({shifted})"
    return f"        case Immediate::{camel(name)}: return {number};\n"


def immediate_decoder(instructions: Mapping[str, Instruction]) -> str:
    """Return the C++ function that decodes the immediates of `instructions`."""
    used = {operand for one in instructions.values() for operand in one.operands}
    immediates = {name: IMMEDIATES[name] for name in IMMEDIATES if name in used}
    cases = "".join(immediate_case(name, immediate) for name, immediate in immediates.items())
    return (
        enumeration("Immediate", ["None", *map(camel, immediates)], "uint8_t")
        + "inline uint32_t immediate_of(Immediate kind, uint32_t word) {\n"
        + "    switch (kind) {\n        case Immediate::None: return 0;\n"
        + cases
        + "    }\n    return 0;\n}\n"
    )


def units(rule: Rule | None) -> int:
    """Return the bits of the optional units that have an instruction, 0 if every core has it.

    Those of `OPTIONS` have flags of their own.
    """
    if rule is None or MEMORY.executes(rule.port, rule.operation):
        return 0
    if rule.port is Port.INT and rule.operation in EXCHANGES:
        return EXCHANGE_UNIT
    return sum(unit_bit(kind) for kind in STYLES if kind.executes(rule.port, rule.operation))


def units_of(core: PipelineConfig) -> int:
    """Return the bits of the optional units of a core."""
    tensor = 0 if core.tensor is None else unit_bit(type(core.tensor))
    return tensor | EXCHANGE_UNIT * core.warp_operations


def option_flags(rule: Rule | None) -> str:
    """Return whether a core needs each of `OPTIONS` for an instruction, and whether it reads rd."""
    without = (replace(MEMORY, **{option: False}) for option in OPTIONS)
    flags = [
        rule is not None
        and MEMORY.executes(rule.port, rule.operation)
        and not core.executes(rule.port, rule.operation)
        for core in without
    ]
    flags.append(rule is not None and rule.reads_rd)
    return ", ".join(str(flag).lower() for flag in flags)


def begins_product(rule: Rule | None) -> bool:
    """Return whether the warp continues while a tensor unit reads operands in shared memory."""
    return (
        rule is not None
        and rule.port is Port.TENSOR
        and any(
            kind.is_asynchronous and kind.executes(rule.port, rule.operation) for kind in STYLES
        )
    )


def orders(rule: Rule | None) -> str:
    """Return the flags of the accesses that an instruction awaits, or that outlast it."""
    serialises = rule is not None and rule.serialises
    awaits_products = rule is not None and rule.awaits_products
    flags = (serialises, begins_product(rule), awaits_products)
    return ", ".join(str(flag).lower() for flag in flags)


def result_group(rule: Rule | None, threads: int) -> str:
    """Return the registers that an instruction writes in warps of `threads` threads."""
    groups = None if rule is None else rule.groups(threads)
    if groups is None or groups.destination is None:
        return "{1, 0, true, false}"
    group = groups.destination
    is_encoded, is_selected = (
        str(flag).lower() for flag in (group.first is None, group.is_selected)
    )
    return f"{{{groups.size}, {group.first or 0}, {is_encoded}, {is_selected}}}"


def row(instruction: Instruction) -> str:
    """Return the table row of an instruction."""
    rule = RULES.get(instruction.name)
    groups = None if rule is None else rule.groups(PLAIN.threads)
    numbers = [
        operand
        for operand in instruction.operands
        if operand in IMMEDIATES and operand not in FIELDS
    ]
    third = "rd" if instruction.updates_rd else "rs3"
    files = [
        f"File::{camel(ROWS[file]) if file else 'None'}"
        for file in (instruction.registers.get(field) for field in ("rd", "rs1", "rs2", third))
    ]
    flags = [str(field in instruction.operands).lower() for field in ("rm", "zimm")]
    return (
        f"    {{{instruction.mask:#010x}u, {instruction.match:#010x}u, "
        f"Op::{camel(instruction.name)}, "
        f"Immediate::{camel(numbers[0]) if numbers else 'None'}, "
        f"{{{', '.join(files)}}}, {', '.join(flags)}, {units(rule)}, "
        f"{result_group(rule, PLAIN.threads)}, {result_group(rule, WIDE.threads)}, "
        f"{str(groups is not None and bool(groups.sources)).lower()}, {orders(rule)}, "
        f"{option_flags(rule)}}},\n"
    )


def instruction_table(instructions: Mapping[str, Instruction]) -> str:
    """Return the enum of mnemonics and the decode table."""
    return (
        enumeration("Op", ["Undecoded", *map(camel, instructions)], "uint8_t")
        + enumeration("File", ["None", "Integer", "Floating"], "uint8_t")
        + immediate_decoder(instructions)
        + "// Rows of a result: a group, which begins at the encoded row, or at `first`.\n"
        + "struct ResultGroup {\n    uint8_t size, first;\n    bool is_encoded, is_selected;\n};\n"
        + "struct Pattern {\n    uint32_t mask, match;\n    Op op;\n    Immediate immediate;\n"
        + "    File files[4];  // of rd, rs1, rs2, rs3\n    bool rounds, has_zimm;\n"
        + "    uint32_t units;  // bits of optional units that have it, 0 if every core does\n"
        + "    ResultGroup narrow, wide;  // by the width of warps\n    bool reads_groups;\n"
        + "    bool serialises, begins_product, awaits_products;\n"
        + "    bool needs_atomics, needs_barriers;\n"
        + "    bool updates_rd;  // the fourth file is that of rd too\n"
        + "};\n"
        + "inline constexpr Pattern kPatterns[] = {\n"
        + "".join(row(instruction) for instruction in instructions.values())
        + "};\n"
        + f"inline constexpr uint32_t kOps = {len(instructions) + 1};\n"
    )


def csr_table(csrs: Mapping[str, Csr]) -> str:
    """Return the enum of registers and how each may be accessed."""
    numbers = ", ".join(f"{camel(csr.name)} = {csr.number:#x}" for csr in csrs.values())
    ranges = " || ".join(
        f"(number >= {block.start:#x} && number < {block.stop:#x})" for block in COUNTER_NUMBERS
    )
    writable = " || ".join(
        f"number == {csr.number:#x}" for csr in csrs.values() if csr.access != "read"
    )
    return (
        f"enum class Csr : uint32_t {{ {numbers} }};\n"
        f"inline bool is_counter(uint32_t number) {{ return {ranges}; }}\n"
        f"inline bool is_writable(uint32_t number) {{ return {writable}; }}\n"
    )


def barrier_layout() -> str:
    """Return the fields of a transaction barrier, its operations and their faults."""
    fields = "".join(
        f"inline constexpr BarrierField kBarrier{camel(name)}{{{field.offset}, {field.width}}};\n"
        for name, field in BARRIER_LAYOUT
    )
    return (
        "struct BarrierField {\n    uint32_t low, width;\n};\n"
        + fields
        + enumeration("BarrierOperation", map(camel, BarrierOperation.__members__), "uint32_t")
        + enumeration("BarrierFault", map(camel, BarrierFault.__members__), "uint32_t")
    )


def header(instructions: Mapping[str, Instruction] = INSTRUCTIONS) -> str:
    """Return the text of the generated header.

    Parameters
    ----------
    instructions : mapping of str to Instruction
        The machine's instructions; each needs a case in ``execute.hpp``, or the C++ does not
        compile.

    """
    constants = "".join(
        f"inline constexpr uint32_t {name} = {value:#x}u;\n" for name, value in CONSTANTS.items()
    )
    progress = "".join(
        f"inline constexpr uint32_t {name}[] = {{{', '.join(map(str, offsets))}}};\n"
        for name, offsets in PROGRESS_OFFSETS.items()
    )
    reasons = enumeration("Reason", [camel(reason.name) for reason in REASONS], "uint32_t")
    stops = enumeration("StopReason", [camel(stop.name) for stop in STOPS], "uint32_t")
    return (
        HEAD
        + instruction_table(instructions)
        + csr_table(CSRS)
        + reasons
        + stops
        + constants
        + "// Registers that warps can wait for, in the block of a unit.\n"
        + progress
        + barrier_layout()
        + "\n}  // namespace spica\n"
    )
