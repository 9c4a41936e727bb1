"""Names of instructions in traces: assembly, function, source line."""

import numpy as np

from ....hw.core.control.faults import FaultCause
from ....hw.isa.assembly import FLOAT_NAMES, INTEGER_NAMES, disassemble
from ....hw.lib.interfaces.memory_fault import MemoryFault
from ....kernels.program import Program
from ...harness.interface import HARNESS

__all__ = ["Names", "fault_text", "register_name"]


class Names:
    """Namer of instructions, by their words and, with a program, by their addresses.

    Parameters
    ----------
    program : Program or None

    """

    def __init__(self, program: Program | None):
        self.program = program
        self.texts: dict[int, str] = {}
        self.places: dict[int, tuple[str, str]] = {}

    def word(self, pc: int, word: int | None) -> int | None:
        """Return an instruction word: the fetched one, else the one in the program."""
        if word is None and self.program is not None:
            return self.program.word_at(pc)
        return word

    def text(self, pc: int, word: int | None) -> str:
        """Return an instruction as assembly; ``?`` if the word is unknown."""
        word = self.word(pc, word)
        if word is None:
            return "?"
        if word not in self.texts:
            self.texts[word] = disassemble(word)
        return self.texts[word]

    def place(self, pc: int) -> tuple[str, str]:
        """Return function and source line, ``main + 0x10`` and ``main.c:7``; "" if unknown."""
        if self.program is None:
            return "", ""
        if pc not in self.places:
            named, line = self.program.named_at(pc), self.program.line_of(pc)
            name = f"{named[0]} + {pc - named[1]:#x}" if named else ""
            self.places[pc] = name, str(line).partition(" in ")[0] if line else ""
        return self.places[pc]


def register_name(number: int) -> str:
    """Return the name of a register in the core's numbering, where f0 to f31 are 32 to 63."""
    return (*INTEGER_NAMES, *FLOAT_NAMES)[number]


def fault_text(row: np.void) -> str:
    """Return a record of `kFault` as text."""
    place = int(row["place"])
    memory_cause = HARNESS.constant("kMemoryCause")
    is_memory = place >= memory_cause
    cause = MemoryFault(place - memory_cause) if is_memory else FaultCause(place)
    name = cause.name.lower().replace("_", " ")
    where = f", address {row['extra']:08x}" if is_memory else ""
    return f"warp {row['warp']}: {name} at {row['pc']:08x}, lanes {row['mask']:b}{where}"
