"""Host command lists: register writes and polls of the control port.

A list is a uint32 array of rows (operation, address, data, mask). Rows execute in order, one
AXI4-Lite access at a time. Accesses are slow, so the builder tracks register contents and writes
only values that change.
"""

from enum import IntEnum

import numpy as np

from ..hw.isa.memory_map import (
    CONTROL,
    CONTROL_BASE,
    DMA,
    DMA_BASE,
    MATRIX,
    MATRIX_BASE,
    MATRIX_STRIDE,
)

__all__ = ["CommandList", "Host", "Operation", "RegisterBlock"]


class Operation(IntEnum):
    """Operation of one row of a command list."""

    WRITE = 0  #: write `data` to `address`
    WAIT_EQUAL = 1  #: read `address` until ``value & mask == data``
    WAIT_REACHED = 2  #: read `address` until ``value - data``, a signed difference, is >= 0
    READ = 3  #: read `address` and append the value to the results


class CommandList:
    """Command list under construction."""

    def __init__(self):
        self.rows: list[tuple[int, int, int, int]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def write(self, address: int, data: int):
        """Append a write of `data` to the register at `address`."""
        self._append(Operation.WRITE, address, data, 0)

    def wait_equal(self, address: int, data: int, mask: int = 0xFFFF_FFFF):
        """Append a poll of the register until its bits in `mask` equal `data`."""
        self._append(Operation.WAIT_EQUAL, address, data, mask)

    def wait_reached(self, address: int, count: int):
        """Append a poll of a counter, modulo 2**32, until it is at or past `count`."""
        self._append(Operation.WAIT_REACHED, address, count & 0xFFFF_FFFF, 0)

    def read(self, address: int):
        """Append a read of the register into the list of results."""
        self._append(Operation.READ, address, 0, 0)

    def array(self) -> np.ndarray:
        """Return the list in the harness's form, uint32 ``[n, 4]``."""
        return np.array(self.rows, dtype=np.uint32).reshape(-1, 4)

    def _append(self, operation: Operation, address: int, data: int, mask: int):
        if not 0 <= data < 1 << 32:
            raise ValueError(f"data of a register must fit 32 bits, not {data!r}")
        self.rows.append((int(operation), address, data, mask))


class RegisterBlock:
    """Registers of one unit, with a shadow copy of their known contents.

    Parameters
    ----------
    commands : CommandList
        List that accesses are appended to.
    base : int
        Byte address of the unit on the slave port.
    table : dict
        Registers of the unit, from `hw.isa.memory_map`.
    after_reset : bool
        Whether the unit was just reset: its registers hold 0.

    """

    def __init__(self, commands: CommandList, base: int, table: dict, *, after_reset: bool):
        self.commands = commands
        self.base = base
        self.table = table
        self.known = (
            {name: 0 for name, register in table.items() if register.access == "rw"}
            if after_reset
            else {}
        )

    def address(self, name: str) -> int:
        """Return the byte address of register `name`."""
        return self.base + self.table[name].offset

    def set(self, **values: int):
        """Set registers to `values`; write only those that differ."""
        for name, value in values.items():
            if self.known.get(name) != value:
                self.commands.write(self.address(name), value)
                self.known[name] = value

    def fire(self, name: str, value: int):
        """Write a register that acts on every write."""
        self.commands.write(self.address(name), value)


class Host:
    """Driver of one matrix unit and its DMA port: registers, and counts of loads and computes.

    Parameters
    ----------
    unit : int
        Index of the matrix unit.
    after_reset : bool
        Whether the machine was just reset. If not, every register is written before its first use,
        and `loads` and `computes` must be set to the values of the unit's counters.

    """

    def __init__(self, *, unit: int = 0, after_reset: bool = True):
        self.commands = CommandList()
        offset = unit * MATRIX_STRIDE
        self.dma = RegisterBlock(self.commands, DMA_BASE + offset, DMA, after_reset=after_reset)
        self.matrix = RegisterBlock(
            self.commands, MATRIX_BASE + offset, MATRIX, after_reset=after_reset
        )
        self.loads = 0
        self.computes = 0

    def load(self, *, dram, dram_pitch, local, local_pitch, rows, size, fill_rows=0, fill_size=0):
        """Enqueue a DMA load of `rows` rows of `size` bytes, and count it."""
        self.dma.set(
            dram=dram,
            dram_pitch=dram_pitch,
            local=local,
            local_pitch=local_pitch,
            shape=rows | size << 16,
            fill=fill_rows | fill_size << 16,
        )
        self.dma.fire("start", 0)
        self.loads += 1

    def operands(self, rs1: int, rs2: int, *, high: bool = True):
        """Set rs1 and rs2 of the next RoCC instruction; `high=False` keeps bits 63:32."""
        self.matrix.set(rs1_low=rs1 & 0xFFFF_FFFF, rs2_low=rs2 & 0xFFFF_FFFF)
        if high:
            self.matrix.set(rs1_high=rs1 >> 32, rs2_high=rs2 >> 32)

    def instruction(self, word: int, rs1: int, rs2: int, *, high: bool = True):
        """Issue RoCC instruction `word` with its operands."""
        self.operands(rs1, rs2, high=high)
        self.matrix.fire("instruction", word)

    def wait_loads(self, count: int):
        """Wait until `count` loads of this port are done."""
        self.commands.wait_reached(self.dma.address("loads_done"), count)

    def wait_computes(self, count: int):
        """Wait until `count` computes are done."""
        self.commands.wait_reached(self.matrix.address("computes_done"), count)

    def mark(self):
        """Read the machine's clock into the list of results."""
        self.commands.read(CONTROL_BASE + CONTROL["cycle_low"].offset)

    def wait_idle(self):
        """Wait until the matrix unit has finished every command, stores included."""
        self.commands.wait_equal(self.matrix.address("busy"), 0, 1)
