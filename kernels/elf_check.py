"""Check of an ELF file before anything reads it: header and segments, one sentence if one is bad.

Layout of the file: Tool Interface Standard, *ELF Specification 1.2*, book I; flags of RISC-V:
*RISC-V ELF psABI*, section 8.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..base.errors import UserError
from ..hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS
from ..hw.isa.instructions import INSTRUCTIONS, find
from ..hw.isa.memory_map import DRAM_BASE, DRAM_END, ENTRY

__all__ = ["MAGIC", "Segment", "checked_segments"]

HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
SEGMENT = struct.Struct("<IIIIIIII")
MAGIC, CLASS_32, LITTLE_ENDIAN = b"\x7fELF", 1, 1
KINDS = {0: "of no type", 1: "a relocatable object", 3: "a shared object", 4: "a core dump"}
EXECUTABLE, RISCV, COMPRESSED, LOADED, RUNS = 2, 243, 1, 1, 1
#: Instructions after which the next word may be anything.
ENDS = ("ecall", "ebreak", "mret")
AUIPC = INSTRUCTIONS["auipc"].match


@dataclass(frozen=True)
class Segment:
    """Segment that is loaded.

    Attributes
    ----------
    address : int
        Address of its first byte.
    contents : bytes
        Its bytes, zeros that are not in the file included.
    is_executable : bool
        Whether it holds instructions: it is marked so, or begins the program.
    notes : tuple of str
        Sentences on what is unusual.

    """

    address: int
    contents: bytes
    is_executable: bool
    notes: tuple[str, ...] = ()

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.address + len(self.contents)


def checked_segments(image: bytes, name: str) -> list[Segment]:
    """Return the segments of a program; raise `UserError` unless the cores can run it.

    Parameters
    ----------
    image : bytes
        The file.
    name : str
        Its name in messages.

    """
    require_kind(image, name)
    header = HEADER.unpack_from(image)
    entry, first, size, count = header[4], header[5], header[9], header[10]
    if count and size < SEGMENT.size:
        raise UserError(f"{name} is damaged: its segments are described by {size} bytes each")
    if first + count * size > len(image):
        raise UserError(
            f"{name} is cut: its segments are described up to byte {first + count * size:,}, and "
            f"it has {len(image):,}"
        )
    rows = [SEGMENT.unpack_from(image, first + number * size) for number in range(count)]
    segments = list(loaded(image, name, rows, entry))
    if not segments:
        raise UserError(f"{name} has no segment to load: link it as an executable")
    if entry != ENTRY:
        raise UserError(
            f"a program must begin at {ENTRY:#x}, where cores start; {name} begins at {entry:#x}: "
            "link its start-up code to that address"
        )
    if not any(entry in part for part in segments):
        raise UserError(f"{name} has no instructions at {entry:#x}, where it begins")
    if header[7] & COMPRESSED and (at := compressed_at(segments, entry)) is not None:
        raise UserError(
            f"{name} has compressed instructions, which the cores do not have, at {at:#x}: "
            "compile it without C, for example with -march=rv32imf"
        )
    return segments


def compressed_at(segments: list[Segment], entry: int) -> int | None:
    """Return the first compressed instruction on ways of constant jumps, None without any.

    The flag of the file alone says nothing: a file has it if one of its parts allowed them.
    """
    waiting, seen = [entry], set()
    while waiting:
        pc = waiting.pop()
        word = word_at(segments, pc)
        if pc in seen or not word & 0xFFFF:
            continue  # the latter is no instruction of either length
        seen.add(pc)
        if word & 3 != 3:
            return pc
        instruction = find(word)
        if instruction is None or instruction.name in ENDS:
            continue
        if (kind := instruction.operands[-1:]) in (("b",), ("j",)):
            waiting.append(pc + IMMEDIATES[kind[0]].decode(word))
        before = word_at(segments, pc - 4)
        if instruction.name == "jalr" and before & 0xFFF == AUIPC | register(word, "rs1") << 7:
            base = pc - 4 + (IMMEDIATES["u"].decode(before) << 12)
            waiting.append(base + IMMEDIATES["i"].decode(word) & 0xFFFF_FFFE)
        if instruction.name not in ("jal", "jalr") or register(word, "rd"):
            waiting.append(pc + 4)
    return None


def register(word: int, name: str) -> int:
    """Return the number in a register field of an instruction."""
    return word >> REGISTER_FIELDS[name] & 0x1F


def word_at(segments: list[Segment], address: int) -> int:
    """Return the word at an address, 0 outside the segments."""
    part = next((part for part in segments if address in part), None)
    return (
        0 if part is None else int.from_bytes(part.contents[address - part.address :][:4], "little")
    )


def require_kind(image: bytes, name: str) -> None:
    """Raise unless a file is an executable for the cores."""
    if image[:4] != MAGIC:
        raise UserError(f"a program must be an ELF file; {name} is not")
    if len(image) < HEADER.size:
        raise UserError(f"{name} is cut: an ELF header has {HEADER.size} bytes, not {len(image)}")
    ident, kind, machine, *_ = HEADER.unpack_from(image)
    width = 32 if ident[4] == CLASS_32 else 64
    if width != 32 or ident[5] != LITTLE_ENDIAN or machine != RISCV:
        what = "RISC-V" if machine == RISCV else f"machine {machine}"
        order = "" if ident[5] == LITTLE_ENDIAN else ", big-endian"
        raise UserError(
            f"a program must be for 32-bit RISC-V; {name} is for {width}-bit {what}{order}"
        )
    if kind != EXECUTABLE:
        raise UserError(
            f"a program must be an executable; {name} is {KINDS.get(kind, f'of type {kind}')}: "
            "link it"
        )


def loaded(image: bytes, name: str, rows: list[tuple[int, ...]], entry: int) -> Iterator[Segment]:
    """Yield the segments that are loaded and not empty."""
    for kind, offset, linked, address, in_file, in_memory, flags, _ in rows:
        if kind != LOADED or not in_memory:
            continue
        if in_file > in_memory:
            raise UserError(
                f"{name} is damaged: its segment at {address:#x} has {in_file:,} bytes in the file "
                f"and {in_memory:,} in memory"
            )
        if offset + in_file > len(image):
            raise UserError(
                f"{name} is cut: its segment at {address:#x} ends at byte {offset + in_file:,}, "
                f"and it has {len(image):,}"
            )
        if not DRAM_BASE <= address < address + in_memory <= DRAM_END:
            raise UserError(
                f"segments must lie within {DRAM_BASE:#x} to {DRAM_END:#x}; {name} has one from "
                f"{address:#x} to {address + in_memory:#x}: link it to other addresses"
            )
        contents = image[offset : offset + in_file].ljust(in_memory, b"\0")
        begins, notes = entry in range(address, address + in_memory), []
        if begins and not flags & RUNS:
            notes.append(f"the segment at {address:#x}, which runs first, is not marked executable")
        if linked != address:
            notes.append(
                f"the segment at {address:#x} is linked for {linked:#x}: a program that copies it "
                f"there needs --allow-region {linked:#x}:{in_memory}"
            )
        yield Segment(address, contents, begins or bool(flags & RUNS), tuple(notes))
