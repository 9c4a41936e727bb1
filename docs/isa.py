"""Write the tables of isa.md from the definitions in `spica.hw.isa`; ``make docs`` runs it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pages
import reserved
from pages import table
from reserved import allocation, product_control, reserved_registers

from spica.hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES
from spica.hw.isa.commands import CISC_MAPS, CiscCommand, CiscKind, cisc_strides, cisc_word
from spica.hw.isa.csr import COUNTERS, CSRS, USED_BLOCKS
from spica.hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS
from spica.hw.isa.instructions import INSTRUCTIONS, ORDERING_BIT, Instruction, field_of
from spica.hw.isa.operations import Unit

PAGE = Path(__file__).with_name("isa.md")

#: Field boundaries of RISC-V words: opcode, rd, funct3, rs1, rs2, funct7.
BOUNDARIES = (7, 12, 15, 20, 25, 32)

#: Effects of the instructions that RISC-V does not define. The "last" thread is the active thread
#: with the highest number in the warp.
MEANINGS = {
    "vx_tmc": "thread mask := rs1 of the last thread; the warp ends if it is 0",
    "vx_wspawn": "starts warps 1 to rs1 - 1, other than this one, at address rs2, with thread 0 "
    "active besides the threads that were; the effect on warps that have not ended is undefined",
    "vx_split": "threads whose rs1 has bit 0 set continue alone until `vx_join`, then the others. "
    "rd := 1 if there are threads of both kinds, and an entry is pushed on the stack; otherwise "
    "rd := 0 and nothing changes. rs2 is ignored",
    "vx_join": "rs1 is the result of `vx_split`. 0: no effect. 1, the first time: the other "
    "threads continue after `vx_split`; the second time: all of them continue after `vx_join`, "
    "and the stack is popped",
    "vx_bar": "waits at barrier rs1 until rs2 warps of every core have arrived (`barrier_scope` "
    "cluster), or rs2 warps of this core (core; with bit 31 of rs1, one warp of each of rs2 cores)",
    "vx_pred": "threads whose rs1 has bit 0 set stay active; if there are none, thread mask := "
    "rs2 of the last thread",
    "vx_vote_all": "rd := 1 if bit 0 of rs1 is set in all active threads, otherwise 0; votes "
    "ignore rs2",
    "vx_vote_any": "rd := 1 if it is set in any active thread, otherwise 0",
    "vx_vote_uni": "rd := 1 if it is equal in all active threads, otherwise 0",
    "vx_vote_ballot": "rd := the active threads in which it is set, bit t for thread t",
    "vx_shfl_up": "rd := rs1 of thread t - b, if that is not below t & mask; t is the number of "
    "the thread. rs2 has b from bit 0 on, clamp from 6 on and mask from 12 on, each as wide as a "
    "thread number. A thread that would read one out of bounds or an inactive one gets its own rs1",
    "vx_shfl_down": "rd := rs1 of thread t + b, if that is at most (t & mask) + (clamp & ~mask)",
    "vx_shfl_bfly": "rd := rs1 of thread t ^ b, with the same bound",
    "vx_shfl_idx": "rd := rs1 of thread (t & mask) + (b & ~mask), with the same bound",
    "fshfl_up.s": "as `vx_shfl_up`, from and to float registers",
    "fshfl_down.s": "as `vx_shfl_down`",
    "fshfl_bfly.s": "as `vx_shfl_bfly`",
    "fshfl_idx.s": "as `vx_shfl_idx`",
    "vx_wait": "the warp sleeps until the unit register at address rs1 has a value: `running` at "
    "most rs2; `loads_done`, `stores_done` or `computes_done` at or past rs2, modulo 2^16; only "
    "with a DMA",
    "mbarrier.init": "barrier of rs2 arrivals in phase 0, nothing pending but them",
    "mbarrier.inval": "the 8 bytes are no longer a barrier",
    "mbarrier.arrive": "rs2 arrivals; rd := parity of the phase before them",
    "mbarrier.arrive_drop": "the same, and phases to come expect rs2 arrivals less",
    "mbarrier.arrive.expect_tx": "expects rs2 bytes more in this phase, and 1 arrival; rd as "
    "before",
    "mbarrier.arrive_drop.expect_tx": "the same, and phases to come expect 1 arrival less",
    "mbarrier.expect_tx": "expects rs2 bytes more in this phase",
    "mbarrier.complete_tx": "rs2 of the expected bytes have arrived",
    "mbarrier.test_wait.parity": "rd := 1 if the phase of parity rs2 has completed, else 0",
    "mbarrier.try_wait.parity": "the same, after a wait of limited time for that phase",
    "mbarrier.wait.parity": "the warp sleeps until the phase of parity rs2 has completed, of each "
    "thread in turn",
    "fpack.h.s": "fd := fs1 rounded to FP16 in bits 15:0, fs2 in bits 31:16",
    "fpack.bf16.s": "the same in BF16",
    "funpackl.s.h": "fd := the FP16 number in bits 15:0 of fs1",
    "funpackh.s.h": "fd := the FP16 number in bits 31:16 of fs1",
    "funpackl.s.bf16": "fd := the BF16 number in bits 15:0 of fs1",
    "funpackh.s.bf16": "fd := the BF16 number in bits 31:16 of fs1",
    "frcp.s": "fd := 1 / fs1",
    "frsqrt.s": "fd := 1 / sqrt(fs1)",
    "fexp2.s": "fd := 2 to the power of fs1",
    "flog2.s": "fd := logarithm of fs1 to the base 2",
    "fsin.s": "fd := sin(fs1), in radians",
    "fcos.s": "fd := cos(fs1), in radians",
    "hmma": "C := A B + C of 8 x 8 numbers in FP32, A in f0 to f7, B in f8 to f15, C in f16 to f23 "
    "if rd is x0, in f24 to f31 if it is x1; operand format and depth are those of the core, by "
    "default FP16 and 16; with warps of 32 threads 16 x 8 numbers, A in f0 to f3, B in f8 and f9, "
    "C in f16 to f19, f20 to f23, f24 to f27 or f28 to f31 by rd, x0 to x3; all threads of the "
    "warp must be active",
    "hgmma": "starts C := A B + C of 16 x 16 numbers in FP32, A at address rs1 and B at rs2 of "
    "shared memory, 1024 bytes each in dense rows, C in f0 to f31; operand format and depth are "
    "those of the core, by default FP16 and 32; all threads of the warp must be active",
    "hgmma_wait": "waits for every `hgmma` of the warp; A and B must not change before, unless "
    "another `hgmma` of the warp has begun; all threads of the warp must be active",
}

#: Titles of the groups, each with the units of its instructions.
GROUPS = {
    "Integer": (Unit.INT, Unit.MULTIPLY, Unit.DIVIDE),
    "Branches and jumps": (Unit.BRANCH,),
    "Memory": (Unit.LSU,),
    "Atomic": (Unit.ATOMIC,),
    "Transaction barriers": (Unit.BARRIER,),
    "Floating point": (Unit.FP32, Unit.FP32_DIVIDE),
    "Packed conversions": (Unit.FP32,),
    "Control and status registers": (Unit.CSR,),
    "System": (Unit.SYSTEM,),
    "Warps": (Unit.WARP,),
    "Votes and shuffles": (Unit.EXCHANGE,),
    "Special functions": (Unit.SFU,),
    "Tensor": (Unit.TENSOR,),
}


def bits(low: int, width: int) -> str:
    """Return a bit range as text, such as ``31:25``."""
    return f"{low + width - 1}:{low}" if width > 1 else f"{low}"


def operand_fields(instruction: Instruction) -> Iterator[tuple[int, int, str]]:
    """Yield position, width and text of every field of an operand."""
    for operand in instruction.operands:
        if operand not in IMMEDIATES:
            yield REGISTER_FIELDS[field_of(operand)], 5, operand
            continue
        immediate = IMMEDIATES[operand]
        for place, width, low in immediate.pieces:
            whole = len(immediate.pieces) == 1 and low == 0
            yield place, width, operand if whole else f"{operand}[{bits(low, width)}]"
    for bit, name in enumerate(("rl", "aq")):
        if instruction.orderings >> bit & 1:
            yield ORDERING_BIT + bit, 1, name


def encoding(instruction: Instruction) -> str:
    """Return the word from bit 31 down: digits for fixed bits, names for operands."""
    fields = {place: (width, text) for place, width, text in operand_fields(instruction)}
    parts, place = [], 0
    while place < 32:
        if place in fields:
            width, text = fields[place]
        else:
            end = min(b for b in (*BOUNDARIES, *fields) if b > place)
            width = end - place
            text = f"{instruction.match >> place & ((1 << width) - 1):0{width}b}"
        parts.append(text)
        place += width
    return " ".join(reversed(parts))


def group_table(instructions: Iterable[Instruction]) -> str:
    """Return the table of some instructions, with meanings if RISC-V does not define them."""
    rows = [
        [
            f"`{f'{one.name} {one.syntax}'.strip()}`",
            f"`{encoding(one)}`",
            one.unit.value,
            *([MEANINGS[one.name]] if one.name in MEANINGS else []),
        ]
        for one in instructions
    ]
    header = ["instruction", "word, bit 31 first", "unit", "meaning"]
    return table(header[: len(rows[0])], rows)


def instructions() -> str:
    """Return the tables of all instructions, group by group."""
    lines = []
    for title, units in GROUPS.items():
        chosen = [one for one in INSTRUCTIONS.values() if one.unit in units]
        if Unit.FP32 in units:
            has_meaning = title == "Packed conversions"
            chosen = [one for one in chosen if (one.name in MEANINGS) == has_meaning]
        lines += [f"### {title}", "", group_table(chosen), ""]
    return "\n".join(lines).rstrip()


def registers() -> str:
    """Return the table of register names."""
    rows = [[f"x{k}", f"`{INTEGER_NAMES[k]}`", f"f{k}", f"`{FLOAT_NAMES[k]}`"] for k in range(32)]
    return table(["integer", "name", "float", "name"], rows)


def control_registers() -> str:
    """Return the table of control and status registers."""
    rows = [[f"`{csr.number:#05x}`", csr.name, csr.access, csr.meaning] for csr in CSRS.values()]
    for block in USED_BLOCKS:
        for half, numbers in zip(("lower", "upper"), block.halves, strict=True):
            span = f"`{numbers[0]:#05x}` to `{numbers[-1]:#05x}`"
            rows.append([span, "", "read", f"performance counters, {half} halves"])
    return table(["number", "name", "access", "meaning"], rows)


def performance_counters() -> str:
    """Return the table of performance counters."""
    rows = [
        [f"`{one.number:#05x}`", f"`{one.high_number:#05x}`", f"`{one.name}`", one.meaning]
        for one in COUNTERS.values()
    ]
    return table(["lower half", "upper half", "name", "counts"], rows)


def cisc_meaning(command: CiscCommand) -> str:
    """Return the meaning of a command word."""
    if command.kind is CiscKind.STRIDES_AB:
        return "elements between rows in DRAM: `first` of A, `second` of B"
    if command.kind is CiscKind.STRIDES_DC:
        return "elements between rows in DRAM: `first` of D, `second` of C"
    if command.kind is CiscKind.CONFIG:
        return "resets activation, scale, transposes and the first accumulator row"
    parts = [f"loop over the tile with parts `{command.parts:#05x}`"]
    if command.operands and command.quarters is None:
        parts.append("A from sixteenth `a` of shared memory, B to the end of sixteenth `b`")
    elif command.quarters is not None:
        first, end = command.quarters
        parts.append(f"A from quarter {first} of shared memory, B up to quarter {end}")
    if command.c_byte is not None:
        parts.append(f"C to sixteenth `{command.c_byte}`")
    if command.accumulate is None:
        parts.append("adds to C if bit 0 of `c` is set")
    elif command.operands and command.parts & 0x40 == 0 and command.accumulate:
        parts.append("adds to C")
    return "; ".join(parts)


def command_words() -> str:
    """Return the tables of command words, one per map."""
    lines = []
    for name, commands in CISC_MAPS.items():
        rows = [
            [f"{code}", command.name, cisc_meaning(command)] for code, command in commands.items()
        ]
        lines += [f"### `{name}`", "", table(["operation", "name", "meaning"], rows), ""]
    return "\n".join(lines).rstrip()


def command_fields() -> str:
    """Return the table of a command word's fields."""
    strides = {name: cisc_strides[name] for name in ("first", "second")}
    fields = {name: cisc_word[name] for name in ("operation", "unit", "square", "a", "b", "c")}
    rows = [
        [bits(field.offset, field.width), f"`{name}`", words]
        for words, chosen in (("all", fields), ("strides", strides))
        for name, field in chosen.items()
    ]
    return table(["bits", "field", "of words"], rows)


def reserved_encodings() -> str:
    """Return the tables of reserved encodings, group by group."""
    return reserved.reserved_encodings(encoding)


def updated(text: str) -> str:
    """Return the page with every table regenerated from the definitions."""
    sections = (
        registers,
        instructions,
        control_registers,
        performance_counters,
        command_fields,
        command_words,
        allocation,
        reserved_encodings,
        product_control,
        reserved_registers,
    )
    return pages.updated(text, sections)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
