"""The C header `spica.h`: sizes, addresses, registers and encodings of a machine."""

import re
from collections.abc import Iterator

from ..base.errors import UserError
from ..hw.config import MachineConfig, PipelineConfig
from ..hw.core.front_end.decode_table import RULES, Rule
from ..hw.isa import commands as rocc
from ..hw.isa import memory_map as address_map
from ..hw.isa.csr import BLOCK_PLACES, COUNTER_PLACES, COUNTERS, CSRS, USED_BLOCKS
from ..hw.isa.instructions import INSTRUCTIONS
from ..hw.isa.markers import MARKERS
from ..hw.isa.operations import ControlOperation, Port, Unit
from ..hw.machine.artifacts import sizes as config_sizes
from ..hw.machine.register_blocks import register_blocks
from ..hw.styles.registry import TENSOR_STYLES, matrix_style_of
from .gemm.styles import header_constants, header_sizes, tile_constants

__all__ = ["EXIT_CODES", "library_header", "program_header"]

#: Exit codes that the runtime returns, with their reasons.
EXIT_CODES = {
    "nested": (121, "a launch was called from inside a launch or a parallel block"),
    "abort": (134, "abort was called"),
}

#: Hand-written headers that `spica.h` includes, one topic each.
INCLUDED = (
    "spica_intrinsics.h",
    "spica_divergence.h",
    "spica_launch.h",
    "spica_select.h",
    "spica_warp.h",
    "spica_barrier.h",
    "spica_special.h",
    "spica_convert.h",
    "spica_math.h",
    "spica_string.h",
    "spica_console.h",
    "spica_devices.h",
    "spica_tensor.h",
)
#: Operands of instructions of the form ``.insn r``.
R_OPERANDS = {"rd", "fd", "rs1", "fs1", "rs2", "fs2", "rm"}
NOT_HERE = "and this machine has none"
#: Constants of the address map for programs, under their names there.
ADDRESSES = (
    *("DRAM_BASE", "DRAM_END", "SHARED_BASE", "ENTRY", "STACK_TOP", "ARGUMENTS"),
    *("WINDOW_BYTES", "PRINT_BYTES", "CONSOLE_BASE", "CONSOLE_LANES"),
    *("COUNTER_DUMP", "COUNTER_DUMP_BYTES", "MATRIX_STRIDE"),
    *("CLUSTER_WINDOWS", "CLUSTER_WINDOW_BYTES"),
)
Definitions = Iterator[tuple[str, str, str]]


def sizes(config: MachineConfig, stack_bytes: int) -> Definitions:
    """Yield name, value and meaning of each size of the cluster and of the program."""
    core = config.core
    assert core is not None
    yield "cores", str(config.cores), "cores of the cluster"
    yield "warps", str(core.warps), "warps of a core"
    yield "threads", str(core.threads), "threads of a warp"
    yield "warp_operations", str(int(core.warp_operations)), "whether there are votes and shuffles"
    yield "thread_width", str(core.thread_width), "bits of a thread's number in mhartid"
    yield "warp_width", str(core.warp_width), "bits of a warp's number in mhartid"
    yield "barriers", str(config.barriers), "barriers, numbered from 0"
    is_wide = int(config.barrier_scope == "cluster")
    yield "barriers_of_cluster", str(is_wide), "whether barriers span all cores"
    yield "stack_bytes", str(stack_bytes), "bytes of each thread's stack"
    yield "shared_bytes", str(config.shared.size), "bytes of shared memory"
    yield "matrices", str(len(config.units)), "matrix units"
    for number, matrix in enumerate(config.units):
        for name, value, meaning in (
            ("operand", matrix.operand_bytes, "bytes of an element of A and B"),
            ("narrow", matrix.narrow_bytes, "bytes of an element of C, narrow format"),
            ("wide", matrix.wide_bytes, "bytes of an element of C, accumulator format"),
            *((f"{port}_block", size, "bytes of a block") for port, size in matrix.reads.items()),
        ):
            yield f"{address_map.numbered(name, number)}_bytes", str(value), meaning
    yield from header_sizes(config)
    yield "has_dma", str(int(config.dma is not None)), "whether the cluster has a DMA"
    for name, value in config_sizes(config):
        yield name, str(value), ""


def addresses() -> Definitions:
    """Yield name, value and meaning of each address common to all machines."""
    for name in ADDRESSES:
        yield name, f"{getattr(address_map, name):#x}", ""
    yield from header_constants()


def windows(config: MachineConfig) -> Definitions:
    """Yield name, value and meaning of each register's address, as seen by the cores."""
    window = address_map.SHARED_BASE + config.shared.size
    yield "window_base", f"{window:#x}", "end of shared memory: print buffers, registers"
    for block, base, registers in register_blocks(config):
        if base < address_map.DMA_BASE:
            continue  # the cores see print buffers there
        for name, register in registers.items():
            meaning = f"{register.access}: {register.meaning}"
            yield f"{block}_{name}", f"{window + base + register.offset:#x}", meaning


def exit_codes() -> Definitions:
    """Yield name, value and meaning of each exit code of the runtime."""
    for name, (code, meaning) in EXIT_CODES.items():
        yield f"exit_{name}", str(code), meaning


def encodings(core: PipelineConfig) -> Definitions:
    """Yield name, leading operands of ``.insn r`` and operands of each instruction of its form.

    In place of an instruction that the core does not have, a sentence is defined, which the
    compiler quotes where the instruction is used.
    """
    for instruction in INSTRUCTIONS.values():
        is_standard = instruction.unit in (Unit.SYSTEM, Unit.ATOMIC)
        if is_standard or not R_OPERANDS.issuperset(instruction.operands):
            continue
        word, rule = instruction.match, RULES[instruction.name]
        name = re.sub(r"\W", "_", instruction.name)
        if core.executes(rule.port, rule.operation):
            text = f"{word & 0x7F:#04x}, {word >> 12 & 7}, {word >> 25:#04x}"
            fixed = "" if "rs2" in instruction.registers else f", rs2 = {word >> 20 & 0x1F}"
            yield f"insn_{name}", text, instruction.syntax + fixed
        else:
            sentence = f"{instruction.name} needs {requirement_of(rule)} {NOT_HERE}"
            yield f"lacks_{name}", f'"{sentence}"', ""
            yield f"insn_{name}", f"SPICA_LACKS_{name.upper()}", ""


def requirement_of(rule: Rule) -> str:
    """Return the part of a machine that an instruction needs which not every core has."""
    if rule.instruction.unit is Unit.EXCHANGE:
        return "core.warp_operations"
    if rule.instruction.unit is Unit.BARRIER:
        return "core.transaction_barriers"
    if rule.port is Port.CONTROL and rule.operation == ControlOperation.WAIT:
        return "a DMA"
    kinds = (one for one in TENSOR_STYLES if one.executes(rule.port, rule.operation))
    return f"tensor units of core.tensor={' or '.join(one.name for one in kinds)}"


def missing(config: MachineConfig) -> Definitions:
    """Yield a sentence for each kind of unit outside the cores that the cluster does not have."""
    if not config.units:
        yield "lacks_matrix", f'"this needs a matrix unit {NOT_HERE}"', ""


def commands(config: MachineConfig) -> Definitions:
    """Yield name, value and meaning of each command code of the matrix units."""
    for function in rocc.Function:
        yield f"rocc_{function.name}", f"{rocc.rocc_word(function):#010x}", ""
    for name in ("COMPUTE", "STORE", "SPILL"):
        yield f"only_{name}", f"{getattr(rocc, name):#x}u", "rs2 of LOOP_WS"
    for layout in (rocc.loop_control, rocc.loop_parts):
        for name, field in layout:
            yield f"loop_{name}", f"{1 << field.offset % 32:#x}u", "first bit of a field of LOOP_WS"
    for number, matrix in enumerate(config.units):
        for code, operation in matrix_style_of(matrix).operations(matrix).items():
            yield f"{address_map.numbered('cisc', number)}_{operation}", str(code), ""


def markers() -> Definitions:
    """Yield name, immediate and meaning of the instructions that mark the measured region."""
    for name, immediate in MARKERS.items():
        yield f"marker_{name}", str(immediate), f"slti x0, x1: {name} of the measured region"


def registers_of_control() -> Definitions:
    """Yield name, number and meaning of each control and status register."""
    for csr in CSRS.values():
        yield f"csr_{csr.name}", f"{csr.number:#05x}", f"{csr.access}: {csr.meaning}"
    for number, block in enumerate(USED_BLOCKS):
        name = address_map.numbered("csr_counters", number)
        yield name, f"{block.low.start:#05x}", f"first of {BLOCK_PLACES} counters, lower halves"
        yield f"{name}_high", f"{block.high.start:#05x}", "first of the counters, upper halves"
    yield "counters", str(COUNTER_PLACES), ""
    yield "counters_of_block", str(BLOCK_PLACES), ""
    for counter in COUNTERS.values():
        yield f"counter_{counter.name}", str(counter.place), counter.meaning


def text(title: str, sections: dict[str, Definitions]) -> str:
    """Return the text of a header with these definitions."""
    lines = [f"/* Generated by Spica, for {title}. */", "#ifndef SPICA_H", "#define SPICA_H"]
    for section, definitions in sections.items():
        lines += ["", f"/* {section} */"]
        for name, value, meaning in definitions:
            comment = f" /* {meaning} */" if meaning else ""
            lines.append(f"#define SPICA_{name.upper()} {value}{comment}")
    includes = [f'#include "{name}"' for name in INCLUDED]
    lines += ["", "#ifndef __ASSEMBLER__", *includes, "#endif", "", "#endif", ""]
    return "\n".join(lines)


def common(core: PipelineConfig) -> dict[str, Definitions]:
    """Return the definitions common to all machines, and the instructions of a core."""
    return {
        "Addresses": addresses(),
        "Control and status registers": registers_of_control(),
        "Instructions: opcode, funct3 and funct7 for .insn r": encodings(core),
        "Markers": markers(),
        "Exit codes": exit_codes(),
    }


def library_header() -> str:
    """Return the text of `spica.h` for the machine-independent library; it has no sizes."""
    return text("programs of any machine", common(PipelineConfig()))


def program_header(config: MachineConfig, stack_bytes: int = address_map.STACK_BYTES) -> str:
    """Return the text of `spica.h` for programs of a cluster with stacks of this size.

    Assembly can use its constants; declarations are for C and C++ only.
    """
    if config.core is None:
        raise UserError("programs need a machine with cores; this one has none: set cores")
    cores = f"{config.cores} core{'s' if config.cores > 1 else ''}"
    title = f"programs of {cores}, {config.core.warps} warps of {config.core.threads} threads each"
    own = {
        "Sizes": sizes(config, stack_bytes),
        "Registers of devices": windows(config),
        "Commands of the matrix units": commands(config),
        "Products on the matrix units": tile_constants(config),
        "Missing units": missing(config),
    }
    return text(title, common(config.core) | own)
