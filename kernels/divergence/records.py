"""Records of the instructions of `SPICA_IF` and `SPICA_WHILE` in a compiled program."""

import io
import struct
from dataclasses import dataclass
from enum import IntEnum

from elftools.elf.elffile import ELFFile

from ..program import Program

__all__ = ["Kind", "Record", "records_of"]

SECTION = ".spica.constructs"
ROW = struct.Struct("<II")
KIND_WIDTH = 2


class Kind(IntEnum):
    """Instruction of a construct; the numbers are those in `spica_divergence.h`."""

    SPLIT = 0  #: begins `SPICA_IF`
    JOIN = 1  #: ends `SPICA_IF`
    MASK = 2  #: begins `SPICA_WHILE`: reads the thread mask
    PRED = 3  #: decides on a further iteration of `SPICA_WHILE`; the branch to the body follows


@dataclass(frozen=True)
class Record:
    """Kind of an instruction, and the number of its construct in the source."""

    kind: Kind
    identity: int


def records_of(program: Program) -> dict[int, Record]:
    """Return the records of a program by the addresses of their instructions.

    Records of functions that the linker dropped have address 0 and are left out.
    """
    section = ELFFile(io.BytesIO(program.image)).get_section_by_name(SECTION)
    rows = ROW.iter_unpack(section.data()) if section is not None else ()
    return {
        address: Record(Kind(word & (1 << KIND_WIDTH) - 1), word >> KIND_WIDTH)
        for address, word in rows
        if address
    }
