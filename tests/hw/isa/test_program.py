"""Tests of assembly programs with labels: words against a compiler's, errors with their line."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from elftools.elf.elffile import ELFFile

from spica.hw.isa.assembly import assemble
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import ALIASES, assemble_program

#: All program constructs that a compiler also supports.
TEXT = """
_start: first:                # two labels, one address
    nop
    mv a0, t0
    not a1, a2
    neg s11, t6
    seqz x5, x31
    snez x6, fp
    j ahead
loop: addi a0, a0, -1         # label and instruction on one line
    beqz a0, loop
    bnez a0, ahead
    bltz a1, loop
    bgez a1, .Lahead
    blez a2, loop
    bgtz a2, ahead
    bgt a0, a1, loop
    ble a0, a1, ahead
    bgtu a0, a1, loop
    bleu a0, a1, ahead
    blt a0, a1, loop
    bgeu s0, s1, last$
    call subroutine
    jal t0, first
    jal zero, last$
.Lahead:
ahead:
    jr t0
    jalr ra, -4(t1)
    csrr a0, fcsr
    csrw frm, a1
    csrs fflags, a2
    csrc 0x340, a3
    csrwi frm, 3
    fmv.s fa0, fa1
    fneg.s ft0, ft1
    fabs.s fs0, fs1
    fmadd.s fa0, fa1, fa2, fa3, rtz
    fadd.s f1, f2, f3
    la a0, data
    la sp, first
    la x31, far
    lw a0, 4(sp)
    sw a0, -2048(a1)
    fsw fa0, 2047(a1)
    beq a0, a1, . + 8
subroutine:
    ret
data:
    .word 1
    .word -1, 0xffffffff, 0x80000000, -2147483648, data, far
last$:
    ecall
"""
#: Immediates at the borders of ``addi``, of ``lui`` and of the carry between both.
VALUES = (0, 1, -1, 2047, 2048, -2048, -2049, 4095, 4096, 0x7FF, 0x800, 0xFFF, 0x1000, 0x12345800)
VALUES += (0x1234_57FF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_F800, 0xFFFF_F7FF)
VALUES += (-0x8000_0000, 0x7FFF_F800, 0xDEAD_BEEF, 0x8000_0800, 0xFFF0_0000)
FAR = ".word 0\n" * 1100 + "far: nop\n"


def linked(text, folder):
    """Return the words of a program at `ENTRY` from clang and its linker."""
    source, part, target = (folder / f"program.{suffix}" for suffix in ("S", "o", "elf"))
    source.write_text(f".option norelax\n.globl _start\n.text\n{text}")
    # Debug lines of assembly are an error in this compiler.
    compile_it = ["cc", "-g0", "-c", "-o", part, source, "-target", "riscv32-freestanding-none"]
    compile_it += ["-mcpu=generic_rv32+m+f", "-mabi=ilp32f"]
    link_it = ["ld.lld", f"-Ttext={ENTRY:#x}", "-o", target, part]
    for command in (compile_it, link_it):
        subprocess.run([sys.executable, "-m", "ziglang", *command], check=True, capture_output=True)
    with target.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".text")
        assert section["sh_addr"] == ENTRY
        data = section.data()
    return [int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)]


def for_clang(load):
    """Return a ``li`` as its upper and its lower half."""
    register, number = load[1], int(load[2]) & 0xFFFF_FFFF
    if number < 2048 or number >= 0xFFFF_F800:
        return load[0]
    lower = f"\naddi {register}, {register}, %lo({number})" if number & 0xFFF else ""
    return f"lui {register}, %hi({number}){lower}"


def test_whole_program_is_that_of_a_compiler(tmp_path):
    loads = "".join(f"li x{k + 1}, {value}\n" for k, value in enumerate(VALUES))
    text = TEXT + loads + FAR
    # `assemble` takes plain distances, clang expressions relative to the location.
    ours = assemble_program(text.replace(". + 8", "8"))
    # `li` is expanded, since clang uses one instruction and a shift; `halves` are its parts.
    theirs = linked(re.sub(r"li (x\d+), (\S+)", for_clang, text), tmp_path)
    assert list(ours) == theirs
    assert len(ours) > 1150


def test_every_alias_is_compared_with_a_compiler():
    used = set(re.findall(r"(?m)^(?:.*: )?\s*([a-z.]+)\b", TEXT))
    assert set(ALIASES) <= used


@pytest.mark.parametrize("value", VALUES)
def test_load_immediate_loads_the_value(value):
    register = 0
    for word in assemble_program(f"li a0, {value}"):
        upper, lower = word & 0xFFFF_F000, (word >> 20 ^ 0x800) - 0x800
        register = upper if word & 0x7F == 0x37 else register + lower
    assert register & 0xFFFF_FFFF == value & 0xFFFF_FFFF


def test_labels_words_and_data():
    program = assemble_program("a: nop\nb:\n.word 7, c\nc: j a", base=0x1000)
    assert program.labels == {"a": 0x1000, "b": 0x1004, "c": 0x100C}
    assert program.base == 0x1000
    assert program == [assemble("addi x0, x0, 0"), 7, 0x100C, assemble("jal x0, -12")]
    assert program.data[4:12] == bytes([7, 0, 0, 0, 0x0C, 0x10, 0, 0])


def test_instructions_of_ours_and_names_of_registers():
    program = assemble_program("vx_split t0, a0, x0\nvx_tmc x0\ncsrr a0, num_warps\nhgmma a0, a1")
    assert program == [
        assemble("vx_split t0, a0, x0"),
        0x0000000B,
        assemble("csrrs a0, 0xfc1, zero"),
        assemble("hgmma a0, a1"),
    ]


def test_empty_text_is_an_empty_program():
    assert assemble_program("  \n# nothing\nend:").labels == {"end": ENTRY}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nop\nnop2", "line 2: instruction must be in the table, not 'nop2'"),
        ("\n\nj away", "line 3: label must be defined, not 'away'"),
        ("a: nop\na: nop", "line 2: label must be defined once, not again: a"),
        ("li a0, 0x100000000", "line 1: value must have 32 bits, not 4294967296"),
        ("li a0, four", "line 1: value must be a number, not 'four'"),
        ("li a0", "line 1: li must have 2 operands, not 1"),
        ("mv a0", "line 1: mv must have 2 operands, not 1"),
        ("li 4, 4", "line 1: operand must be an integer register, not '4'"),
        ("la a0, b", "line 1: label must be defined, not 'b'"),
        (".word c", "line 1: label must be defined, not 'c'"),
        ("addi a0, a0, label\nlabel:", "line 1: operand must be a number, not 'label'"),
        (f"beqz a0, far\n{FAR}", "line 1: immediate must be a multiple of 2 from -4096 to 4094"),
    ],
)
def test_bad_text_is_refused_with_its_line(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        assemble_program(text)


def test_addresses_are_reached_from_every_place():
    """The two halves of `la` are correct on both sides of every border of 2 KiB."""
    text = "".join(f"la a0, t{k}\n.word {k}\n" for k in range(2)) + "t0: nop\n" * 1
    text += "nop\n" * 600 + "t1: nop\n" + "nop\n" * 600 + "back: la a0, t0\nla a1, t1\n"
    program = assemble_program(text)
    for index, label in ((0, "t0"), (3, "t1"), (len(program) - 4, "t0"), (len(program) - 2, "t1")):
        upper, lower = program[index], program[index + 1]
        reached = ENTRY + 4 * index + (upper & 0xFFFF_F000) + (lower >> 20 ^ 0x800) - 0x800
        assert reached & 0xFFFF_FFFF == program.labels[label]
    assert all(one < other for one, other in pairwise(sorted(program.labels.values())))
