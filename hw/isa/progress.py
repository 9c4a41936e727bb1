"""Unit registers that a warp can wait for (``vx_wait``), and the condition of each."""

import enum
from collections.abc import Iterator, Mapping

from .memory_map import DMA, MATRIX_STRIDE, UNIT_REGISTERS, Register, unit_bases

__all__ = ["PROGRESS", "PROGRESS_WIDTH", "WaitKind", "progress_of", "progress_offsets"]


class WaitKind(enum.Enum):
    """Condition on a register's value, given an operand n."""

    AT_MOST = "at most"  #: value <= n
    AT_LEAST = "at least"  #: value is at or past n, modulo 2**32


#: Registers of units that a warp can wait for. Cores compare the low `PROGRESS_WIDTH` bits: a
#: counter must be less than ``2**(PROGRESS_WIDTH - 1)`` before or past n.
PROGRESS = {
    "running": WaitKind.AT_MOST,
    "loads_done": WaitKind.AT_LEAST,
    "stores_done": WaitKind.AT_LEAST,
    "computes_done": WaitKind.AT_LEAST,
}
PROGRESS_WIDTH = 16


def progress_of(registers: Mapping[str, Register]) -> dict[str, WaitKind]:
    """Return those of a unit's registers that a warp can wait for."""
    return {name: kind for name, kind in PROGRESS.items() if name in registers}


def progress_offsets(matrices: int) -> Iterator[tuple[int, WaitKind]]:
    """Yield the offset in the register window, and the condition, of each register to wait for.

    They are in the order of `unit_bases`, and for each unit in the order of `PROGRESS`.
    """
    dma_blocks = {base for name, base in unit_bases(matrices).items() if name.startswith("dma")}
    for base in unit_bases(matrices).values():
        registers = DMA if base in dma_blocks else UNIT_REGISTERS
        assert all(register.offset < MATRIX_STRIDE for register in registers.values())
        for name, kind in progress_of(registers).items():
            yield base + registers[name].offset, kind
