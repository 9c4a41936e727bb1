"""Check of an ELF file before anything reads it: header and segments, one sentence if one is bad.

Layout of the file: Tool Interface Standard, *ELF Specification 1.2*, book I; flags of RISC-V:
*RISC-V ELF psABI*, section 8.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..hw.base.errors import UserError
from ..hw.isa.memory_map import DRAM_BASE, DRAM_END, ENTRY

__all__ = ["Segment", "checked_segments"]

HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
SEGMENT = struct.Struct("<IIIIIIII")
MAGIC, CLASS_32, LITTLE_ENDIAN = b"\x7fELF", 1, 1
KINDS = {0: "of no type", 1: "a relocatable object", 3: "a shared object", 4: "a core dump"}
EXECUTABLE, RISCV, COMPRESSED, LOADED, RUNS = 2, 243, 1, 1, 1


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
        Whether it holds instructions.

    """

    address: int
    contents: bytes
    is_executable: bool


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
    segments = list(loaded(image, name, rows))
    if not segments:
        raise UserError(f"{name} has no segment to load: link it as an executable")
    if entry != ENTRY:
        raise UserError(
            f"a program must begin at {ENTRY:#x}, where cores start; {name} begins at {entry:#x}: "
            "link its start-up code to that address"
        )
    runs = [part for part in segments if part.is_executable]
    if not any(part.address <= entry < part.address + len(part.contents) for part in runs):
        raise UserError(f"{name} has no instructions at {entry:#x}, where it begins")
    return segments


def require_kind(image: bytes, name: str) -> None:
    """Raise unless a file is an executable for the cores."""
    if image[:4] != MAGIC:
        raise UserError(f"a program must be an ELF file; {name} is not")
    if len(image) < HEADER.size:
        raise UserError(f"{name} is cut: an ELF header has {HEADER.size} bytes, not {len(image)}")
    ident, kind, machine, *_, flags, _, _, _, _, _, _ = HEADER.unpack_from(image)
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
    if flags & COMPRESSED:
        raise UserError(
            f"{name} may contain compressed instructions, which the cores do not have: compile it "
            "without C, for example with -march=rv32imf"
        )


def loaded(image: bytes, name: str, rows: list[tuple[int, ...]]) -> Iterator[Segment]:
    """Yield the segments that are loaded and not empty."""
    for kind, offset, _, address, in_file, in_memory, flags, _ in rows:
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
        yield Segment(address, contents, bool(flags & RUNS))
