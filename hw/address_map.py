"""Where memory and registers live: one table for gateware, drivers, models and C headers.

A host reaches registers over the AXI4-Lite slave; cores reach the same offsets in a window behind
shared memory, from `DMA_BASE` on. What lies below it in that window is the print buffers.
"""

from dataclasses import dataclass

__all__ = [
    "ARGUMENTS",
    "CONSOLE_BASE",
    "CONSOLE_LANES",
    "CONSOLE_OFFSET",
    "CONTROL",
    "CONTROL_BASE",
    "COUNTERS_BASE",
    "COUNTERS_END",
    "COUNTER_DUMP",
    "COUNTER_DUMP_BYTES",
    "DMA",
    "DMA_BASE",
    "DRAM_BASE",
    "DRAM_END",
    "ENTRY",
    "IDENTITY",
    "MAP_VERSION",
    "MATRIX",
    "MATRIX_BASE",
    "MATRIX_STRIDE",
    "PRINT_BYTES",
    "SHARED_BASE",
    "SLAVE_ADDRESS_WIDTH",
    "STACK_BYTES",
    "STACK_TOP",
    "WINDOW_BYTES",
    "Register",
]

DRAM_BASE = 0x8000_0000
DRAM_END = 0xFF00_0000
SHARED_BASE = 0xFF00_0000

#: First instruction of every core.
ENTRY = DRAM_BASE
#: Stacks grow down from here, that of hart h from ``STACK_TOP - h * STACK_BYTES``.
STACK_TOP = SHARED_BASE
STACK_BYTES = 8192
#: Arguments of a kernel, words in a row.
ARGUMENTS = 0x9FFF_0000
#: Bytes of the window of registers that begins where shared memory ends.
WINDOW_BYTES = 0x4000
#: Bytes of each core's print buffer, the first at the start of the window.
PRINT_BYTES = 0x200
#: The console, from the start of shared memory: a byte stored here is printed. Harts have a byte
#: lane each, modulo `CONSOLE_LANES`.
CONSOLE_OFFSET = 1 << 19
CONSOLE_BASE = SHARED_BASE + CONSOLE_OFFSET
CONSOLE_LANES = 64
#: Where each core's program leaves its counters when it ends.
COUNTER_DUMP = CONSOLE_BASE + CONSOLE_LANES
COUNTER_DUMP_BYTES = 0x100

IDENTITY = 0x5350_4943
MAP_VERSION = 1

SLAVE_ADDRESS_WIDTH = 16
CONTROL_BASE = 0x0000
COUNTERS_BASE = 0x0100
COUNTERS_END = 0x1000
DMA_BASE = 0x1000
MATRIX_BASE = 0x3000
MATRIX_STRIDE = 0x100


@dataclass(frozen=True, kw_only=True)
class Register:
    """One 32-bit register: byte offset in its block, access ("r", "w" or "rw"), meaning."""

    offset: int
    access: str
    meaning: str


CONTROL = {
    "identity": Register(offset=0x00, access="r", meaning="0x53504943, «SPIC»"),
    "version": Register(offset=0x04, access="r", meaning="version of this register map"),
    "status": Register(
        offset=0x08, access="r", meaning="bit 0 DMA busy, bit 1 matrix unit busy, bit 2 error"
    ),
    "cycle_low": Register(offset=0x10, access="r", meaning="cycles since reset, bits 31:0"),
    "cycle_high": Register(offset=0x14, access="r", meaning="cycles since reset, bits 63:32"),
}

DMA = {
    "dram": Register(offset=0x00, access="rw", meaning="DRAM byte address of the first row"),
    "dram_pitch": Register(offset=0x04, access="rw", meaning="bytes between rows in DRAM"),
    "local": Register(offset=0x08, access="rw", meaning="byte offset in shared memory"),
    "local_pitch": Register(offset=0x0C, access="rw", meaning="bytes between rows there"),
    "shape": Register(offset=0x10, access="rw", meaning="rows in 15:0, bytes per row in 31:16"),
    "fill": Register(
        offset=0x14, access="rw", meaning="load: zero-filled to rows in 15:0, bytes in 31:16"
    ),
    "start": Register(
        offset=0x18, access="w", meaning="enqueue the job: 0 = load, 1 = store; held while full"
    ),
    "running": Register(offset=0x20, access="r", meaning="jobs of this port not yet done"),
    "loads_done": Register(offset=0x24, access="r", meaning="loads of this port done since reset"),
    "stores_done": Register(
        offset=0x28, access="r", meaning="stores of this port done since reset"
    ),
    "error": Register(
        offset=0x2C,
        access="rw",
        meaning="bit 0 AXI error response, bit 1 job out of range; a write clears",
    ),
}

MATRIX = {
    "instruction": Register(offset=0x00, access="w", meaning="RoCC instruction word; fires"),
    "rs1_low": Register(offset=0x10, access="rw", meaning="rs1, bits 31:0"),
    "rs1_high": Register(offset=0x14, access="rw", meaning="rs1, bits 63:32"),
    "rs2_low": Register(offset=0x18, access="rw", meaning="rs2, bits 31:0"),
    "rs2_high": Register(offset=0x1C, access="rw", meaning="rs2, bits 63:32"),
    "busy": Register(offset=0x20, access="r", meaning="1 while any command is not finished"),
    "running": Register(offset=0x28, access="r", meaning="running loops, bits 3:0"),
    "cisc": Register(offset=0x30, access="w", meaning="CISC command word; fires"),
    "computes_done": Register(offset=0x34, access="r", meaning="computes done since reset"),
    "error": Register(
        offset=0x38,
        access="rw",
        meaning="bit 0 illegal command, bit 1 out of range, bit 2 failed DMA job; a write clears",
    ),
    "error_word": Register(offset=0x3C, access="r", meaning="command word of the first error"),
}
