"""Tests of the instruction table: encoding and assembly in both directions, and a compiler."""

import random
import re
import subprocess
import sys
from itertools import combinations, product

import pytest
from elftools.elf.elffile import ELFFile

from spica.hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES, assemble, disassemble
from spica.hw.isa.csr import BLOCK_BIT, COUNTER_BLOCKS, COUNTER_NUMBERS, CSRS
from spica.hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS, RegisterClass
from spica.hw.isa.instructions import INSTRUCTIONS, ORDERING_BIT, SPELLINGS, find

#: Opcodes custom-0 and custom-3.
CUSTOM_OPCODES = (0x0B, 0x5B, 0x7B)
#: Instructions that a compiler for RV32IMAF, Zfhmin, Zfbfmin, Zacas, Zabha, Zalasr and Zihintpause
#: supports.
STANDARD = [
    name
    for name, instruction in INSTRUCTIONS.items()
    if instruction.match & 0x7F not in CUSTOM_OPCODES and name != "fence.i"
]
#: The other ones in compiler form: opcode, funct3, funct7 and register order.
CUSTOM = {
    "vx_tmc": (".insn r 0x0B, 0, 0, x0, {}, x0", 1),
    "vx_wspawn": (".insn r 0x0B, 1, 0, x0, {}, {}", 2),
    "vx_split": (".insn r 0x0B, 2, 0, {}, {}, {}", 3),
    "vx_join": (".insn r 0x0B, 3, 0, x0, {}, x0", 1),
    "vx_bar": (".insn r 0x0B, 4, 0, x0, {}, {}", 2),
    "vx_pred": (".insn r 0x0B, 5, 0, x0, {}, {}", 2),
    "vx_vote_all": (".insn r 0x0B, 0, 1, {}, {}, {}", 3),
    "vx_vote_any": (".insn r 0x0B, 1, 1, {}, {}, {}", 3),
    "vx_vote_uni": (".insn r 0x0B, 2, 1, {}, {}, {}", 3),
    "vx_vote_ballot": (".insn r 0x0B, 3, 1, {}, {}, {}", 3),
    "vx_shfl_up": (".insn r 0x0B, 4, 1, {}, {}, {}", 3),
    "vx_shfl_down": (".insn r 0x0B, 5, 1, {}, {}, {}", 3),
    "vx_shfl_bfly": (".insn r 0x0B, 6, 1, {}, {}, {}", 3),
    "vx_shfl_idx": (".insn r 0x0B, 7, 1, {}, {}, {}", 3),
    "fshfl_up.s": (".insn r 0x0B, 4, 0x44, {}, {}, {}", 3),
    "fshfl_down.s": (".insn r 0x0B, 5, 0x44, {}, {}, {}", 3),
    "fshfl_bfly.s": (".insn r 0x0B, 6, 0x44, {}, {}, {}", 3),
    "fshfl_idx.s": (".insn r 0x0B, 7, 0x44, {}, {}, {}", 3),
    "frcp.s": (".insn r 0x0B, 0, 0x40, {}, {}, x0", 2),
    "frsqrt.s": (".insn r 0x0B, 1, 0x40, {}, {}, x0", 2),
    "fexp2.s": (".insn r 0x0B, 2, 0x40, {}, {}, x0", 2),
    "flog2.s": (".insn r 0x0B, 3, 0x40, {}, {}, x0", 2),
    "fsin.s": (".insn r 0x0B, 4, 0x40, {}, {}, x0", 2),
    "fcos.s": (".insn r 0x0B, 5, 0x40, {}, {}, x0", 2),
    "fpack.h.s": (".insn r 0x0B, 7, 0x42, {}, {}, {}", 3),
    "fpack.bf16.s": (".insn r 0x0B, 7, 0x43, {}, {}, {}", 3),
    "funpackl.s.h": (".insn r 0x0B, 0, 0x41, {}, {}, x0", 2),
    "funpackh.s.h": (".insn r 0x0B, 1, 0x41, {}, {}, x0", 2),
    "funpackl.s.bf16": (".insn r 0x0B, 2, 0x41, {}, {}, x0", 2),
    "funpackh.s.bf16": (".insn r 0x0B, 3, 0x41, {}, {}, x0", 2),
    "hmma": (".insn r 0x7B, 0, 0, {}, x0, x0", 1),
    "hgmma": (".insn r 0x7B, 0, 0, x0, {}, {}", 2),
    "vx_wait": (".insn r 0x5B, 4, 0x10, x0, {}, {}", 2),
    "hgmma_wait": (".insn r 0x7B, 1, 0, x0, x0, x0", 0),
    "mbarrier.init": (".insn r 0x5B, 4, 0, x0, {}, {}", 2),
    "mbarrier.inval": (".insn r 0x5B, 4, 1, x0, {}, x0", 1),
    "mbarrier.arrive": (".insn r 0x5B, 4, 2, {}, {}, {}", 3),
    "mbarrier.arrive_drop": (".insn r 0x5B, 4, 3, {}, {}, {}", 3),
    "mbarrier.arrive.expect_tx": (".insn r 0x5B, 4, 4, {}, {}, {}", 3),
    "mbarrier.arrive_drop.expect_tx": (".insn r 0x5B, 4, 5, {}, {}, {}", 3),
    "mbarrier.expect_tx": (".insn r 0x5B, 4, 6, x0, {}, {}", 2),
    "mbarrier.complete_tx": (".insn r 0x5B, 4, 7, x0, {}, {}", 2),
    "mbarrier.test_wait.parity": (".insn r 0x5B, 4, 8, {}, {}, {}", 3),
    "mbarrier.try_wait.parity": (".insn r 0x5B, 4, 9, {}, {}, {}", 3),
    "mbarrier.wait.parity": (".insn r 0x5B, 4, 10, x0, {}, {}", 2),
}


def corners(operand):
    """Return the boundary values of an operand."""
    if operand not in IMMEDIATES:
        return (0, 1, 10, 31)
    immediate = IMMEDIATES[operand]
    some = (immediate.least, 0, immediate.step, immediate.largest)
    return tuple(dict.fromkeys((*some, -immediate.step) if immediate.is_signed else some))


def encoded(operand, number):
    if operand in IMMEDIATES:
        return IMMEDIATES[operand].encode(number)
    return number << REGISTER_FIELDS[f"r{operand[1:]}"]


def words(instruction):
    """Return words of the instruction with every combination of its operands' corners."""
    orderings = {bits & instruction.orderings for bits in range(4)}
    for ordering, *numbers in product(orderings, *map(corners, instruction.operands)):
        word = instruction.match | ordering << ORDERING_BIT
        for operand, number in zip(instruction.operands, numbers, strict=True):
            word |= encoded(operand, number)
        yield word


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_words_and_assembly_round_trip(name):
    instruction = INSTRUCTIONS[name]
    for word in words(instruction):
        assert instruction.matches(word)
        text = disassemble(word)
        assert assemble(text) == word, text
        if name != "hmma":  # shares words with hgmma
            expected = ("pause",) if word == INSTRUCTIONS["pause"].match else instruction.mnemonics
            assert text.split()[0] in expected


def test_any_word_round_trips():
    rng = random.Random(1)
    opcodes = sorted({instruction.match & 0x7F for instruction in INSTRUCTIONS.values()})
    known = 0
    for _ in range(50_000):
        word = rng.getrandbits(32) & ~0x7F | rng.choice(opcodes)
        text = disassemble(word)
        if find(word) is None:
            assert text == f".word {word:#010x}"
        else:
            known += 1
            assert assemble(text) == word, text
    assert known > 10_000


def test_no_word_is_two_instructions():
    for one, other in combinations(INSTRUCTIONS.values(), 2):
        common = one.mask & other.mask
        is_shared = one.match & common == other.match & common
        names = {one.name, other.name}
        assert is_shared == (names in ({"hmma", "hgmma"}, {"pause", "fence"})), (one, other)


def test_mnemonics_have_the_ordering_of_their_words():
    assert list(INSTRUCTIONS["amoadd.w"].mnemonics) == [
        *("amoadd.w", "amoadd.w.rl", "amoadd.w.aq", "amoadd.w.aqrl"),
    ]
    # A load that acquires nothing and a store that releases nothing are reserved.
    assert list(INSTRUCTIONS["lh.aq"].mnemonics) == ["lh.aq", "lh.aqrl"]
    assert list(INSTRUCTIONS["sw.rl"].mnemonics) == ["sw.rl", "sw.aqrl"]
    reserved = [INSTRUCTIONS[name].match & ~(3 << ORDERING_BIT) for name in ("lw.aq", "sw.rl")]
    assert [find(word) for word in reserved] == [None, None]
    assert len(SPELLINGS) == sum(len(one.mnemonics) for one in INSTRUCTIONS.values())


def compiled(lines, folder):
    """Return the words that clang assembles from lines of assembly."""
    source, target = folder / "lines.S", folder / "lines.o"
    source.write_text(".option norelax\n.text\n" + "\n".join(lines) + "\n")
    # Debug lines for `.insn` are an error in this compiler.
    command = [sys.executable, "-m", "ziglang", "cc", "-g0", "-c", "-o", target, source]
    command += [
        "-target",
        "riscv32-freestanding-none",
        "-mcpu=generic_rv32+m+a+f+zfhmin+zfbfmin+zacas+zabha+zalasr+zihintpause",
        "-mabi=ilp32f",
    ]
    subprocess.run(command, check=True, capture_output=True)
    with target.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text").data()
    return [int.from_bytes(text[k : k + 4], "little") for k in range(0, len(text), 4)]


def for_clang(text):
    """Return a disassembled line for clang: absolute targets, CSRs by number.

    Without a rounding mode, clang gives exact conversions mode 0 and others the dynamic one.
    """
    if re.fullmatch(r"fcvt\.s\.(h|bf16) \w+, \w+", text):
        return f"{text}, dyn"
    if re.match(r"(b\w+|jal) ", text):
        head, _, distance = text.rpartition(" ")
        return f"{head} . + {distance}"
    if text.startswith("csr"):
        return re.sub(
            r", (\w+)", lambda m: f", {CSRS[m[1]].number}" if m[1] in CSRS else m[0], text
        )
    return text


def test_standard_instructions_are_those_of_a_compiler(tmp_path):
    expected = []
    for name in STANDARD:
        for word in words(INSTRUCTIONS[name]):
            text = disassemble(word)
            # Reserved rounding modes and empty fences have encodings but no assembly.
            if not re.search(r", [56]$|fence .*\b0\b", text):
                expected.append((word, for_clang(text)))
    assert len(expected) > 5000
    made = compiled([line for _, line in expected], tmp_path)
    wrong = [
        f"{line}: {word:#x}, not {other:#x}"
        for (word, line), other in zip(expected, made, strict=True)
        if word != other
    ]
    assert not wrong, wrong[:5]


def test_custom_instructions_are_those_of_a_compiler(tmp_path):
    rng = random.Random(2)
    ours, lines = [], []
    assert set(CUSTOM) == set(INSTRUCTIONS) - set(STANDARD) - {"fence.i"}
    for name, (template, count) in CUSTOM.items():
        files = list(INSTRUCTIONS[name].registers.values())
        for _ in range(8):
            names = [
                rng.choice(INTEGER_NAMES if file is RegisterClass.INTEGER else FLOAT_NAMES)
                for file in files
            ]
            assert len(names) == count
            mode = ["dyn"] if "rm" in INSTRUCTIONS[name].operands else []
            ours.append(assemble(f"{name} {', '.join(names + mode)}"))
            lines.append(template.format(*names))
    assert compiled(lines, tmp_path) == ours


def test_control_registers_have_numbers_of_their_own():
    numbers = [csr.number for csr in CSRS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 0x1000 for number in numbers)
    # The upper two bits, if all ones, mean read-only; no register may contradict.
    assert not [c for c in CSRS.values() if c.number >> 10 == 3 and "write" in c.access]
    assert {CSRS[name].number for name in ("mcycle", "minstret")} < set(COUNTER_NUMBERS[0])
    assert {CSRS[name].number for name in ("mcycleh", "minstreth")} < set(COUNTER_NUMBERS[1])


def test_blocks_of_counters():
    ranges = [part for block in COUNTER_BLOCKS for part in (block.low, block.high)]
    every = [number for part in ranges for number in part]
    assert len({*every}) == len(every) == 64 * len(COUNTER_BLOCKS)
    assert all(len(part) == 32 and part.start % 32 == 0 for part in ranges)
    for index, block in enumerate(COUNTER_BLOCKS):
        assert {number >> BLOCK_BIT & 1 for number in (*block.low, *block.high)} == {index}
    assert not {csr.number for csr in CSRS.values()} & {*every[64:]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nop2", "instruction must be in the table, not 'nop2'"),
        ("add a0, a1", "operands of add must be rd, rs1, rs2, not 'a0, a1'"),
        ("add a0, a1, fa2", "operand must be an integer register, not 'fa2'"),
        ("fadd.s fa0, fa1, x2", "operand must be a float register, not 'x2'"),
        ("addi a0, a1, 2048", "immediate must be from -2048 to 2047, not 2048"),
        ("beq a0, a1, 3", "immediate must be a multiple of 2 from -4096 to 4094, not 3"),
        ("lw a0, four(sp)", "operand must be a number, not 'four'"),
        ("slli a0, a0, 32", "immediate must be from 0 to 31, not 32"),
    ],
)
def test_bad_assembly_is_refused(line, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        assemble(line)
