"""The core's front end: which instruction each warp must see next."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...hw.address_map import ENTRY
from .core_decode import Decoded, decode, packed

__all__ = ["WarpView"]


@dataclass
class WarpView:
    """What one warp must see: the instructions from its pc on, in order, whatever is fetched.

    Parameters
    ----------
    fetch : callable
        Word at an address, None where there is no memory. It must not change.
    pc : int
        Where it stands.
    known : dict
        What it has worked out, by pc.

    """

    fetch: Callable[[int], int | None]
    pc: int = ENTRY
    known: dict[int, tuple[int, int]] = field(default_factory=dict)

    def head(self, number: int = 0) -> Decoded:
        """Return the next instruction but `number`."""
        pc = (self.pc + 4 * number) % (1 << 32)
        word = self.fetch(pc)
        return decode(word or 0, pc, failed=word is None)

    def sees(self, actual: int, number: int = 0) -> bool:
        """Return whether these bits are the next instruction but `number`."""
        pc = self.pc + 4 * number
        if pc not in self.known:
            self.known[pc] = packed(self.head(number))
        mask, value = self.known[pc]
        return actual & mask == value

    def take(self, count: int = 1) -> None:
        """`count` instructions have been taken."""
        self.pc = (self.pc + 4 * count) % (1 << 32)

    def redirect(self, pc: int) -> None:
        """Go on at `pc`."""
        self.pc = pc
