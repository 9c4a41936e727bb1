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
    "CORES",
    "CORES_BASE",
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
    "core_registers",
    "numbered",
    "unit_bases",
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
CORES_BASE = 0x2000
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
        offset=0x08,
        access="r",
        meaning="bit 0 DMA busy, bit 1 matrix unit busy, bit 2 error, bit 3 cores run",
    ),
    "cycle_low": Register(offset=0x10, access="r", meaning="cycles since reset, bits 31:0"),
    "cycle_high": Register(offset=0x14, access="r", meaning="cycles since reset, bits 63:32"),
}

#: Registers of the cores without their exit codes.
CORES = {
    "start": Register(
        offset=0x00, access="rw", meaning="1 begins all cores, once after a reset; 1 since then"
    ),
    "state": Register(
        offset=0x04,
        access="r",
        meaning="bit 0 a core is busy, or DRAM has not all that was written, and none has met a "
        "fault; bit 1 a fault is recorded, bit 2 a console byte waits, bit 3 some were lost, "
        "bit 4 a command word went to no unit, bit 5 DRAM refused what was written back",
    ),
    "busy": Register(offset=0x08, access="r", meaning="bit c: core c is busy"),
    "console": Register(
        offset=0x0C, access="r", meaning="next byte of the console in 7:0, taken; bit 8: is one"
    ),
    "fault": Register(
        offset=0x10,
        access="r",
        meaning="first fault: cause in 7:0, bit 8 of memory, warp in 23:16, core in 31:24",
    ),
    "fault_pc": Register(offset=0x14, access="r", meaning="pc of its instruction"),
    "fault_address": Register(offset=0x18, access="r", meaning="its address, where it has one"),
    "fault_lanes": Register(offset=0x1C, access="r", meaning="its threads"),
    "flush": Register(
        offset=0x20, access="rw", meaning="1 writes the L2 cache back to DRAM; 1 until that is done"
    ),
}
#: Where the exit code of core 0 is among them; those of the others follow.
EXIT_CODES = 0x80

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


def numbered(name: str, number: int) -> str:
    """Return the name of the one with this number among several: the first has none."""
    return name + (str(number) if number else "")


def unit_bases(matrices: int) -> dict[str, int]:
    """Return where the registers of each unit begin, for so many matrix units.

    Each matrix unit has a block of registers of the DMA beside it, whose jobs are counted apart:
    who commands the one uses the other. Without matrix units there is one such block.
    """
    blocks = {"dma": (DMA_BASE, max(1, matrices)), "matrix": (MATRIX_BASE, matrices)}
    return {
        numbered(name, number): base + number * MATRIX_STRIDE
        for name, (base, count) in blocks.items()
        for number in range(count)
    }


def core_registers(cores: int) -> dict[str, Register]:
    """Return the registers of so many cores."""
    meaning = "x3 of the thread that ended core {}"
    return CORES | {
        f"exit_code_{core}": Register(
            offset=EXIT_CODES + 4 * core, access="r", meaning=meaning.format(core)
        )
        for core in range(cores)
    }
