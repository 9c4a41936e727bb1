"""Encoding of instruction words: fields, scattered immediates, operand classes."""

import enum
from dataclasses import dataclass

__all__ = ["IMMEDIATES", "REGISTER_FIELDS", "Immediate", "RegisterClass"]


class RegisterClass(enum.Enum):
    """Register file of a register operand."""

    INTEGER = "x"
    FLOAT = "f"


#: Lowest bit of each 5-bit register field.
REGISTER_FIELDS = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}


@dataclass(frozen=True, kw_only=True)
class Immediate:
    """An immediate operand: the mapping between bits of the word and bits of the number.

    Parameters
    ----------
    pieces : tuple of (int, int, int)
        Lowest bit in the word, width, lowest bit in the number; for each contiguous piece.
    is_signed : bool
        Whether the number's top bit is its sign.

    """

    pieces: tuple[tuple[int, int, int], ...]
    is_signed: bool = True

    @property
    def width(self) -> int:
        """Bits of the number."""
        return max(low + width for _, width, low in self.pieces)

    @property
    def step(self) -> int:
        """Alignment: the number is a multiple of this."""
        return 1 << min(low for _, _, low in self.pieces)

    @property
    def least(self) -> int:
        """The smallest number."""
        return -(1 << (self.width - 1)) if self.is_signed else 0

    @property
    def largest(self) -> int:
        """The largest number."""
        return (1 << (self.width - self.is_signed)) - self.step

    @property
    def mask(self) -> int:
        """Mask of the immediate's bits in the word."""
        return sum(((1 << width) - 1) << place for place, width, _ in self.pieces)

    def encode(self, number: int) -> int:
        """Return the bits of the word that encode `number`."""
        return sum(
            (number >> low & ((1 << width) - 1)) << place for place, width, low in self.pieces
        )

    def decode(self, word: int) -> int:
        """Return the number encoded in `word`."""
        number = sum(
            (word >> place & ((1 << width) - 1)) << low for place, width, low in self.pieces
        )
        if self.is_signed and number >> (self.width - 1):
            number -= 1 << self.width
        return number


#: RISC-V's immediates (ISA manual 20191213, section 2.3), and the fields that hold numbers.
IMMEDIATES = {
    "i": Immediate(pieces=((20, 12, 0),)),
    "s": Immediate(pieces=((7, 5, 0), (25, 7, 5))),
    "b": Immediate(pieces=((8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12))),
    # Assembly writes the upper 20 bits as a number without shift.
    "u": Immediate(pieces=((12, 20, 0),), is_signed=False),
    "j": Immediate(pieces=((21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20))),
    "shamt": Immediate(pieces=((20, 5, 0),), is_signed=False),
    "csr": Immediate(pieces=((20, 12, 0),), is_signed=False),
    "zimm": Immediate(pieces=((15, 5, 0),), is_signed=False),
    "rm": Immediate(pieces=((12, 3, 0),), is_signed=False),
    "pred": Immediate(pieces=((24, 4, 0),), is_signed=False),
    "succ": Immediate(pieces=((20, 4, 0),), is_signed=False),
    # Those of reserved instructions: numbers in two fields; columns of a product in eights, 0 for
    # 256; selector of scales; order of an atomic access, 1 release, 2 acquire, 3 both; groups of
    # eight accumulators of the result and of the addend; one accumulator read or written.
    "n": Immediate(pieces=((20, 5, 0),), is_signed=False),
    "count": Immediate(pieces=((7, 5, 0),), is_signed=False),
    "columns": Immediate(pieces=((27, 5, 3),), is_signed=False),
    "select": Immediate(pieces=((27, 5, 0),), is_signed=False),
    "order": Immediate(pieces=((25, 2, 0),), is_signed=False),
    "acc_d": Immediate(pieces=((7, 5, 3),), is_signed=False),
    "acc_c": Immediate(pieces=((27, 5, 3),), is_signed=False),
    "acc_read": Immediate(pieces=((15, 8, 0),), is_signed=False),
    "acc_write": Immediate(pieces=((7, 5, 0), (20, 3, 5)), is_signed=False),
}
