"""Golden model of the front end: the expected instruction stream of each warp."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .....hw.isa.memory_map import ENTRY
from .decode import Decoded, decode, packed

__all__ = ["WarpView"]


@dataclass
class WarpView:
    """Expected instruction stream of one warp: in order from its pc, independent of fetch timing.

    Parameters
    ----------
    fetch : callable
        Returns the word at an address, None without memory. It must not change.
    pc : int
        Address of the next instruction.
    known : dict
        Cache of decoded instructions, by pc.

    """

    fetch: Callable[[int], int | None]
    pc: int = ENTRY
    known: dict[int, tuple[int, int]] = field(default_factory=dict)

    def head(self, number: int = 0) -> Decoded:
        """Return the instruction `number` positions after the next."""
        pc = (self.pc + 4 * number) % (1 << 32)
        word = self.fetch(pc)
        return decode(word or 0, pc, failed=word is None)

    def sees(self, actual: int, number: int = 0) -> bool:
        """Return True if these bits are the instruction `number` positions after the next."""
        pc = self.pc + 4 * number
        if pc not in self.known:
            self.known[pc] = packed(self.head(number))
        mask, value = self.known[pc]
        return actual & mask == value

    def take(self, count: int = 1) -> None:
        """Advance by `count` taken instructions."""
        self.pc = (self.pc + 4 * count) % (1 << 32)

    def redirect(self, pc: int) -> None:
        """Continue at `pc`."""
        self.pc = pc
