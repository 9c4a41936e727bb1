"""Golden model of the wait table of a core, without timing."""

from collections.abc import Sequence

from .....hw.config import CoreBlockConfig
from .....hw.core.control.faults import FaultCause
from .....hw.isa.progress import PROGRESS_WIDTH
from .barrier import RefusedError

__all__ = ["WaitModel", "condition_holds"]

#: Values are equal if their low bits are; a counter is past n by less than half of that.
MODULUS = 1 << PROGRESS_WIDTH


def condition_holds(value: int, n: int, *, is_counter: bool) -> bool:
    """Return whether a warp that waits for a register with this value and n continues."""
    if is_counter:
        return (value - n) % MODULUS < MODULUS // 2
    return value <= min(n, MODULUS // 2 - 1)


class WaitModel:
    """Golden model of `WaitTable`: register and n of each waiting warp."""

    def __init__(self, config: CoreBlockConfig):
        self.registers = {
            register.address: (number, register.is_counter)
            for number, register in enumerate(config.progress)
        }
        self.waiting: dict[int, tuple[int, bool, int]] = {}

    def arrive(self, warp: int, address: int, n: int):
        """Let a warp wait; raise `RefusedError`."""
        if address not in self.registers:
            raise RefusedError(FaultCause.NO_PROGRESS)
        self.waiting[warp] = (*self.registers[address], n)

    def release(self, values: Sequence[int], *, is_behind: bool = False) -> int:
        """Return the warps that continue with these values of the registers."""
        released = 0
        for warp, (number, is_counter, n) in list(self.waiting.items()):
            if not is_behind and condition_holds(values[number], n, is_counter=is_counter):
                released |= 1 << warp
                del self.waiting[warp]
        return released

    def clear(self):
        """Let no warp wait."""
        self.waiting.clear()
