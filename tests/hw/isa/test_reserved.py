"""Tests of reserved encodings: no collisions, assembly, groups of registers, allocation."""

import random
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, product

import pytest
from elftools.elf.elffile import ELFFile

from spica.hw.isa.assembly import assemble, disassemble
from spica.hw.isa.csr import COUNTER_BLOCKS, CSRS
from spica.hw.isa.encoding import IMMEDIATES
from spica.hw.isa.instructions import INSTRUCTIONS, Instruction, find
from spica.hw.isa.reserved.registers import RESERVED_CSRS
from spica.hw.isa.reserved.row import CUSTOM, overlap
from spica.hw.isa.reserved.table import GROUPS, RESERVED, SPACES, find_reserved
from spica.hw.isa.reserved.vortex import VORTEX, VORTEX_CSRS

ROWS: dict[str, Instruction] = {**INSTRUCTIONS, **RESERVED}
#: Instructions that share words: tensor instructions, of different cores, and a hint.
SHARED_WORDS = {frozenset({"hmma", "hgmma"}), frozenset({"pause", "fence"})}
#: Opcodes that RISC-V's ratified extensions use in words of 32 bits, of RV32 and RV64.
RATIFIED = {
    *(0x03, 0x07, 0x0F, 0x13, 0x17, 0x1B, 0x23, 0x27, 0x2F, 0x33, 0x37, 0x3B),
    *(0x43, 0x47, 0x4B, 0x4F, 0x53, 0x57, 0x63, 0x67, 0x6F, 0x73, 0x77),
}


def collisions(rows):
    """Return the pairs of rows that share words, by name."""
    return {
        frozenset((one.name, other.name))
        for one, other in combinations(rows, 2)
        if overlap(one, other)
    }


def collisions_with_vortex(rows):
    """Return pairs of rows and words of Vortex that are the same without the same meaning."""
    return {
        (row.name, words.name)
        for row, words in product(rows, VORTEX)
        if overlap(row, words) and row.name not in words.same
    }


def words(row, rng, count=16):
    """Return words of a row: with all operands 0, with all ones, and random ones."""
    free = 0xFFFF_FFFF & ~row.mask
    return [
        row.match | bits & free for bits in (0, free, *(rng.getrandbits(32) for _ in range(count)))
    ]


def test_no_word_has_two_meanings():
    assert not set(INSTRUCTIONS) & set(RESERVED)
    assert len(RESERVED) == sum(map(len, GROUPS.values()))
    assert collisions(ROWS.values()) == SHARED_WORDS


def test_no_word_has_another_meaning_in_vortex():
    assert collisions_with_vortex(ROWS.values()) == set()


def test_words_that_are_the_same_in_vortex_are_named():
    named = {(name, words.name) for words in VORTEX for name in words.same}
    assert {name for name, _ in named} <= set(ROWS)
    assert all(overlap(ROWS[name], words) for words in VORTEX for name in words.same), (
        "a name in `same` shares no word with Vortex"
    )


def test_reserved_words_are_in_opcodes_that_risc_v_leaves_free():
    """So no compiler emits one, whatever extensions it has."""
    assert not RATIFIED & {*CUSTOM}
    assert {row.match & 0x7F for row in RESERVED.values()} == {*CUSTOM}
    assert {one.match & 0x7F for one in INSTRUCTIONS.values()} <= RATIFIED | {*CUSTOM}


@pytest.mark.parametrize("name", RESERVED)
def test_a_collision_is_reported(name):
    """A row moved onto the words of another one, of Vortex or of an instruction is in the lists."""
    row = RESERVED[name]
    others = [one for one in RESERVED.values() if one.name != name]
    target = others[len(name) % len(others)]
    moved = replace(row, match=target.match, syntax=target.syntax)
    assert frozenset((name, target.name)) in collisions([moved, *others])
    barrier = next(one for one in VORTEX if one.name == "asynchronous barrier")
    moved = replace(row, match=barrier.match, syntax="rs1")
    assert (name, barrier.name) in collisions_with_vortex([moved])
    special = INSTRUCTIONS["fcos.s"]
    moved = replace(row, match=special.match, syntax="rd, rs1")
    assert frozenset((name, "fcos.s")) in collisions([moved, *INSTRUCTIONS.values()])


@pytest.mark.parametrize("name", RESERVED)
def test_words_and_assembly_round_trip(name):
    row = RESERVED[name]
    rng = random.Random(name)
    for word in words(row, rng):
        assert row.matches(word)
        assert find_reserved(word) is row
        text = disassemble(word, find_reserved)
        assert text.split()[0] == name
        assert assemble(text, RESERVED) == word, text


@pytest.mark.parametrize("name", RESERVED)
def test_reserved_words_are_no_instructions(name):
    rng = random.Random(name)
    assert all(find(word) is None for word in words(RESERVED[name], rng))
    line = disassemble(RESERVED[name].match, find_reserved)
    with pytest.raises(ValueError, match="instruction must be in the table"):
        assemble(line)


@pytest.mark.parametrize("name", RESERVED)
def test_operands(name):
    """Groups and control registers exist; a group is a power of two of registers."""
    row = RESERVED[name]
    assert row.match & ~row.mask == 0
    assert row.meaning
    assert not row.meaning.endswith(".")
    assert set(row.groups) <= set(row.registers)
    assert not set(row.sizes) & set(row.contents)
    for count in row.groups.values():
        assert 1 <= count <= 32
        assert count & count - 1 == 0
    assert set(row.control_registers) <= set(RESERVED_CSRS)
    fields = [IMMEDIATES[one].mask for one in row.operands if one in IMMEDIATES]
    fields += [
        0x1F << low for low in (dict(rd=7, rs1=15, rs2=20, rs3=27)[f] for f in row.registers)
    ]
    assert sum(fields) == 0xFFFF_FFFF & ~row.mask, "operands share bits"


#: Encodings in compiler form, and their operands.
INLINE = {
    "famoadd.s fa0, fa1, (a2), 2": ".insn r 0x5B, 6, 0x02, fa0, a2, fa1",
    "fredmax.s fs1, (a2), 1": ".insn r 0x5B, 6, 0x55, x0, a2, fs1",
    "ldmatrix.x4.trans ft4, (a0)": ".insn r 0x2B, 5, 0x06, ft4, a0, x0",
    "dpas.8x1 ft0, ft1, fa6, ft2": ".insn r4 0x2B, 6, 0, ft0, ft1, fa6, ft2",
    "mfma.16x16 8, fa0, fa2, 16": ".insn r4 0x7B, 5, 1, x1, fa0, fa2, x2",
    "wgmma.mma_async.ss ft0, a0, a2, 64": ".insn r4 0x7B, 2, 0, ft0, a0, a2, x8",
    "tcgen05.mma.ss a0, a2, a4": ".insn r4 0x7B, 7, 0, x0, a0, a2, a4",
    "cp.async.bulk.tensor.load.5d a0, a1, s8": ".insn r4 0x2B, 4, 3, x8, a0, a1, s8",
    "mapa t0, a0, a1": ".insn r 0x5B, 4, 0x2C, t0, a0, a1",
}


def test_a_compiler_makes_these_words(tmp_path):
    """Operands of inline assembly may be float registers in every field."""
    source, target = tmp_path / "lines.S", tmp_path / "lines.o"
    source.write_text(".option norelax\n.text\n" + "\n".join(INLINE.values()) + "\n")
    command = [sys.executable, "-m", "ziglang", "cc", "-g0", "-c", "-o", target, source]
    command += ["-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m+f", "-mabi=ilp32f"]
    subprocess.run(command, check=True, capture_output=True)
    with target.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text").data()
    made = [int.from_bytes(text[k : k + 4], "little") for k in range(0, len(text), 4)]
    assert made == [assemble(line, RESERVED) for line in INLINE]


def test_every_word_of_the_custom_opcodes_is_in_one_space():
    for opcode, funct3, funct7 in product(CUSTOM, range(8), range(128)):
        spaces = [
            one
            for one in SPACES
            if one.opcode == opcode and funct3 in one.funct3 and funct7 in one.funct7
        ]
        assert len(spaces) == 1, (hex(opcode), funct3, hex(funct7))
    assert not [pair for pair in combinations(SPACES, 2) if pair[0].overlaps(pair[1])]


def test_every_row_is_in_the_space_of_its_group():
    used = set()
    for title, rows in GROUPS.items():
        for row in rows:
            spaces = [space for space in SPACES if space.contains(row)]
            assert len(spaces) == 1, row.name
            assert title in spaces[0].groups, row.name
            used.add((title, spaces[0]))
    assert used == {(title, space) for space in SPACES for title in space.groups}


def test_no_row_is_in_a_space_that_is_left_to_others():
    custom = [row for row in ROWS.values() if row.match & 0x7F in CUSTOM]
    foreign = [space for space in SPACES if not space.is_ours]
    assert not [(row.name, space.use) for row in custom for space in foreign if space.contains(row)]
    # Words of Vortex are in these, or are named as the same.
    for words_ in VORTEX:
        is_left = any(space.contains(words_) for space in foreign)
        assert is_left != bool(words_.same), words_.name


def test_control_registers_have_numbers_of_their_own():
    numbers = [csr.number for csr in RESERVED_CSRS.values()]
    counters = {n for block in COUNTER_BLOCKS for half in block.halves for n in half}
    assert len(set(numbers)) == len(numbers)
    assert not set(RESERVED_CSRS) & set(CSRS)
    assert not {*numbers} & {csr.number for csr in CSRS.values()}
    assert not {*numbers} & counters
    # The upper two bits, if all ones, mean read-only.
    for csr in RESERVED_CSRS.values():
        assert (csr.number >> 10 == 3) == (csr.access == "read"), csr.name
        # Numbers that RISC-V leaves to each machine, without privilege.
        assert csr.number in range(0x800, 0x900) or csr.number in range(0xCC0, 0xD00), csr.name


def test_control_registers_of_vortex_have_its_meaning():
    by_number = {csr.number: csr.name for csr in (*CSRS.values(), *RESERVED_CSRS.values())}
    assert {n: by_number.get(n, "") for n in VORTEX_CSRS} == VORTEX_CSRS
