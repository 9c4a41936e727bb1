"""Writer of instruction words, with forward branches resolved later."""

from collections.abc import Callable
from functools import cache

from spica.hw.isa.encoding import IMMEDIATES, REGISTER_FIELDS
from spica.hw.isa.instructions import INSTRUCTIONS, field_of
from spica.hw.isa.memory_map import ENTRY

__all__ = ["Writer", "encode"]

#: The lowest bit of each register field, as a factor.
REGISTER_PLACES = {field: 1 << place for field, place in REGISTER_FIELDS.items()}
#: Reach of a branch in bytes; a jump reaches farther.
REACH = 4096


@cache
def placers(name: str) -> tuple[Callable[[int], int], ...]:
    """Return an encoder for each operand of an instruction."""
    return tuple(
        IMMEDIATES[operand].encode
        if operand in IMMEDIATES
        else REGISTER_PLACES[field_of(operand)].__mul__
        for operand in INSTRUCTIONS[name].operands
    )


def encode(name: str, *numbers: int) -> int:
    """Return the word of an instruction with numeric operands, in assembly order."""
    word = INSTRUCTIONS[name].match
    for place, number in zip(placers(name), numbers, strict=True):
        word |= place(number)
    return word


class Writer:
    """A growing program at `ENTRY`."""

    def __init__(self):
        self.words: list[int] = []

    @property
    def address(self) -> int:
        """Address of the next word."""
        return ENTRY + 4 * len(self.words)

    def emit(self, name: str, *numbers: int):
        """Append an instruction."""
        self.words.append(encode(name, *numbers))

    def reserve(self) -> int:
        """Append a word to be written by `settle`; return its index."""
        self.words.append(0)
        return len(self.words) - 1

    def settle(self, index: int, name: str, *numbers: int):
        """Write a reserved word: a jump or branch from it to the current address."""
        distance = 4 * (len(self.words) - index)
        assert distance < REACH
        self.words[index] = encode(name, *numbers, distance)

    def back(self, name: str, *numbers: int, to: int):
        """Append a jump or branch back to the word of index `to`."""
        distance = 4 * (to - len(self.words))
        assert distance >= -REACH
        self.emit(name, *numbers, distance)

    def load_immediate(self, register: int, number: int):
        """Append two instructions that load any 32-bit number."""
        lower = (number & 0xFFF ^ 0x800) - 0x800
        self.emit("lui", register, (number - lower) >> 12 & 0xF_FFFF)
        self.emit("addi", register, register, lower)
