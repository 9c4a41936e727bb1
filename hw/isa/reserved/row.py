"""Record of a reserved encoding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..instructions import Instruction

__all__ = ["CUSTOM", "DESCRIPTOR", "Reserved", "Words", "overlap", "word4", "word_of"]

#: Opcodes that RISC-V leaves to each machine.
CUSTOM = (0x0B, 0x2B, 0x5B, 0x7B)
#: Contents of the two registers of a 64-bit descriptor.
DESCRIPTOR = ("descriptor, bits 31:0", "descriptor, bits 63:32")


class Words(Protocol):
    """Words whose bits under a mask are fixed."""

    @property
    def match(self) -> int:
        """The fixed bits."""
        ...

    @property
    def mask(self) -> int:
        """Mask of the fixed bits."""
        ...


@dataclass(frozen=True)
class Reserved(Instruction):
    """One reserved encoding; its unit is the one that is likely to execute it.

    An operand may be a group of consecutive registers, as in `RegisterGroups`: a power of two of
    them, and the first is a multiple of their number.

    Parameters
    ----------
    meaning : str
        Effect, in a line.
    sizes : mapping of str to int
        Registers of the operands that are groups, by field.
    contents : mapping of str to tuple of str
        The same for groups whose registers differ: the content of each.
    control_registers : tuple of str
        Names of the reserved control registers that are further operands.

    """

    meaning: str = field(kw_only=True)
    sizes: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    contents: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    control_registers: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def groups(self) -> dict[str, int]:
        """Registers of all operands that are groups, by field."""
        return {**self.sizes, **{name: len(texts) for name, texts in self.contents.items()}}


def overlap(one: Words, other: Words) -> bool:
    """Return whether a word is in both."""
    return not (one.match ^ other.match) & one.mask & other.mask


def word_of(opcode: int, funct3: int = 0, funct7: int = 0, *, rd: int = 0) -> int:
    """Return a word by its fixed fields."""
    return funct7 << 25 | funct3 << 12 | rd << 7 | opcode


def word4(opcode: int, funct3: int, funct2: int, *, rd: int = 0, rs3: int = 0) -> int:
    """Return a word of the format of four registers."""
    return word_of(opcode, funct3, rs3 << 2 | funct2, rd=rd)
