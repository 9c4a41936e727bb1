"""Register map: bank and row of each register of a thread."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.utils import ceil_log2, exact_log2

from ...config import PipelineConfig
from ...lib.interfaces.execution_unit import REGISTER_WIDTH
from ..layouts import register_layout

__all__ = ["RegisterMap", "request_layout"]


def request_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of a collector's request for an operand.

    A register of a warp, of the threads of ``mask``; of all threads with warp-wide banks.
    """
    return data.StructLayout({**register_layout(config).members, "mask": config.threads})


@dataclass(frozen=True)
class RegisterMap:
    """Register map: sizes and addresses of the register banks of a core.

    Warp-wide banks hold register r of warp w in bank ``(w + r) mod banks``. Word-wide banks hold
    register r of thread t in bank ``(t + r) mod banks``; threads with equal indices modulo `banks`,
    one of each part of the warp, share a bank.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    """

    config: PipelineConfig

    @property
    def wide(self) -> bool:
        """True if banks are as wide as a warp."""
        return self.config.bank_mapping == "warp"

    @property
    def words(self) -> int:
        """Words in a row of a bank."""
        return self.config.threads if self.wide else 1

    @property
    def parts(self) -> int:
        """Reads of a bank for a register of all threads."""
        return 1 if self.wide else -(-self.config.threads // self.config.banks)

    @property
    def offsets(self) -> int:
        """Threads of a part, each in a different bank."""
        return min(self.config.threads, self.config.banks)

    @property
    def bank_width(self) -> int:
        """Bits of a bank's index, 0 if there is one bank."""
        return exact_log2(self.config.banks)

    @property
    def high_width(self) -> int:
        """Bits of a register's number above those that select its bank."""
        return REGISTER_WIDTH - self.bank_width

    @property
    def part_width(self) -> int:
        """Bits of a part's index, 0 if there is one part."""
        return ceil_log2(self.parts)

    @property
    def depth(self) -> int:
        """Rows of a bank."""
        if self.wide:
            return self.config.warps << self.high_width
        return self.config.threads << self.config.warp_width + self.high_width

    @property
    def place_layout(self) -> data.StructLayout:
        """Layout of a register's position within its bank."""
        return data.StructLayout({
            "high": self.high_width,
            "warp": self.config.warp_width,
            "low": 0 if self.wide else self.bank_width,
            "part": self.part_width,
        })

    def place(self, register: Value, warp: Value, part: Value) -> Value:
        """Return the position of a register in the layout `place_layout`."""
        low = register[: 0 if self.wide else self.bank_width]
        return Cat(register[self.bank_width :], warp[: self.config.warp_width], low, part)

    def row(self, place: data.View, number: Value) -> Value:
        """Return the row of `place` in the bank of this number.

        With word-wide banks the row ends in the thread. Its offset in its part follows from the
        bank and the register. The lowest bits of the register are not stored, because bank and
        offset imply them.
        """
        warp_row = Cat(place.high, place.warp)
        if self.wide:
            return warp_row
        offset = (number - place.low)[: ceil_log2(self.offsets)]
        return Cat(warp_row, offset, place.part)
