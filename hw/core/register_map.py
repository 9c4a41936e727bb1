"""Where registers are: which bank and which row of it holds a register of a thread."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ..config import CoreConfig
from .layouts import REGISTER_WIDTH, register_layout

__all__ = ["RegisterMap", "request_layout"]


def request_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a collector's request for an operand.

    A register of a warp, of the threads of ``mask``; of all where banks are as wide as a warp.
    """
    return data.StructLayout({**register_layout(config).members, "mask": config.threads})


@dataclass(frozen=True)
class RegisterMap:
    """Sizes of the register banks of a core.

    Warp-wide banks hold register r of warp w in bank ``(w + r) mod banks``. Banks of a word hold
    register r of thread t in bank ``(t + r) mod banks``; threads whose number is the same modulo
    `banks`, one for each part of the warp, meet at the same bank.

    Parameters
    ----------
    config : CoreConfig
        The core.

    """

    config: CoreConfig

    @property
    def wide(self) -> bool:
        """Whether banks are as wide as a warp."""
        return self.config.bank_mapping == "warp"

    @property
    def words(self) -> int:
        """Words in a row of a bank."""
        return self.config.threads if self.wide else 1

    @property
    def parts(self) -> int:
        """Reads of a bank that it takes to read a register of all threads."""
        return 1 if self.wide else -(-self.config.threads // self.config.banks)

    @property
    def offsets(self) -> int:
        """Threads of a part: they are in as many banks."""
        return min(self.config.threads, self.config.banks)

    @property
    def bank_width(self) -> int:
        """Bits of a bank's number, 0 if there is one."""
        return exact_log2(self.config.banks)

    @property
    def high_width(self) -> int:
        """Bits of a register's number above those that tell its bank."""
        return REGISTER_WIDTH - self.bank_width

    @property
    def part_width(self) -> int:
        """Bits of a part's number, 0 if there is one."""
        return ceil_log2(self.parts)

    @property
    def depth(self) -> int:
        """Rows of a bank."""
        if self.wide:
            return self.config.warps << self.high_width
        return self.config.threads << self.config.warp_width + self.high_width

    @property
    def place_layout(self) -> data.StructLayout:
        """Layout of what tells the row to one that knows the bank."""
        return data.StructLayout({
            "high": self.high_width,
            "warp": self.config.warp_width,
            "low": 0 if self.wide else self.bank_width,
            "part": self.part_width,
        })

    def place(self, register, warp, part) -> Value:
        """Return the place of a register as `place_layout` has it."""
        low = register[: 0 if self.wide else self.bank_width]
        return Cat(register[self.bank_width :], warp[: self.config.warp_width], low, part)

    def row(self, place, number) -> Value:
        """Return the row of `place` in the bank of this number.

        With banks of a word it ends in the thread. The bank and the register tell its offset in
        its part; the lowest bits of the register are not stored, for the other two tell them.
        """
        warp_row = Cat(place.high, place.warp)
        if self.wide:
            return warp_row
        offset = (number - place.low)[: ceil_log2(self.offsets)]
        return Cat(warp_row, offset, place.part)
