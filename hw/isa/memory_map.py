"""Memory map and register map, shared by the RTL, drivers, models and C headers.

A host reaches registers over the AXI4-Lite slave. Cores reach the same offsets in a window behind
shared memory, from `DMA_BASE` on. The print buffers fill that window below `DMA_BASE`.
"""

from dataclasses import dataclass

from .csr import COUNTER_PLACES

__all__ = [
    "ARGUMENTS",
    "CISC_OFFSET",
    "CLUSTER_WINDOWS",
    "CLUSTER_WINDOW_BYTES",
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
    "INSTRUCTION_OFFSET",
    "INTERRUPTS",
    "MAP_VERSION",
    "MATRIX",
    "MATRIX_BASE",
    "MATRIX_STRIDE",
    "PRINT_BYTES",
    "SHARED_BASE",
    "SLAVE_ADDRESS_WIDTH",
    "STACK_BYTES",
    "STACK_TOP",
    "UNIT_REGISTERS",
    "WINDOW_BYTES",
    "Register",
    "cluster_window",
    "core_registers",
    "in_cluster",
    "numbered",
    "unit_bases",
]

DRAM_BASE = 0x8000_0000
DRAM_END = 0xFF00_0000
SHARED_BASE = 0xFF00_0000

#: First instruction of every core, unless its cluster has an entry of its own.
ENTRY = DRAM_BASE
#: Stacks grow down from here; that of hart h starts at ``STACK_TOP - h * STACK_BYTES``.
STACK_TOP = SHARED_BASE
STACK_BYTES = 8192
#: Arguments of a kernel, as consecutive words, unless its cluster has a place of its own.
ARGUMENTS = 0x9FFF_0000
#: Bytes of the register window, which begins at the end of shared memory.
WINDOW_BYTES = 0x4000
#: Bytes of each core's print buffer; the first is at the start of the window.
PRINT_BYTES = 0x200
#: Console, relative to the start of shared memory: a byte stored here is printed. Each hart has a
#: byte lane, modulo `CONSOLE_LANES`.
CONSOLE_OFFSET = 1 << 19
CONSOLE_BASE = SHARED_BASE + CONSOLE_OFFSET
CONSOLE_LANES = 64
#: Memory to which each core's program dumps its counters when it ends.
COUNTER_DUMP = CONSOLE_BASE + CONSOLE_LANES
COUNTER_DUMP_BYTES = 8 * COUNTER_PLACES
#: Addresses of one cluster's shared memory, and of its window for all others: each cluster has its
#: own at `SHARED_BASE`, and the windows of all clusters follow.
CLUSTER_WINDOW_BYTES = 1 << 20
CLUSTER_WINDOWS = SHARED_BASE + CLUSTER_WINDOW_BYTES

IDENTITY = 0x5350_4943
MAP_VERSION = 2

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
    """One 32-bit register.

    Parameters
    ----------
    offset : int
        Byte offset in its block.
    access : str
        ``r``, ``w`` or ``rw``.
    meaning : str
    effect : str
        Effect of an access on the value: ``pop``, a read removes it; ``clear``, a write of any
        value sets it to 0; ``clear_ones``, a write sets its ones to 0; empty if there is none.

    """

    offset: int
    access: str
    meaning: str
    effect: str = ""


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
    "interrupt_enable": Register(
        offset=0x18, access="rw", meaning="events that raise the interrupt: bit 0 done, bit 1 error"
    ),
    "interrupt_pending": Register(
        offset=0x1C,
        access="rw",
        meaning="bit 0 cores and units have become idle, bit 1 an error has appeared; a 1 clears",
        effect="clear_ones",
    ),
}
#: Events with a bit in the interrupt registers, the lowest first.
INTERRUPTS = ("done", "error")

#: Registers of the cores, without their exit codes.
CORES = {
    "start": Register(
        offset=0x00,
        access="rw",
        meaning="bit c starts the cores of cluster c; written once after reset",
    ),
    "state": Register(
        offset=0x04,
        access="r",
        meaning="bit 0 cores run: one is busy or DRAM lacks written data, and no fault is "
        "recorded; bit 1 a fault is recorded, bit 2 the console holds a byte, bit 3 console bytes "
        "were lost, bit 4 a command word reached no unit, bit 5 DRAM refused a write-back",
    ),
    "busy": Register(offset=0x08, access="r", meaning="bit c: core c is busy"),
    "console": Register(
        offset=0x0C,
        access="r",
        meaning="next console byte in 7:0, popped; bit 8: it is valid",
        effect="pop",
    ),
    "fault": Register(
        offset=0x10,
        access="r",
        meaning="first fault: cause in 7:0, bit 8 memory fault, warp in 23:16, core in 31:24",
    ),
    "fault_pc": Register(offset=0x14, access="r", meaning="pc of the faulting instruction"),
    "fault_address": Register(offset=0x18, access="r", meaning="faulting address, if it has one"),
    "fault_lanes": Register(offset=0x1C, access="r", meaning="mask of the faulting threads"),
    "flush": Register(
        offset=0x20, access="rw", meaning="1 flushes the L2 cache to DRAM; reads 1 until done"
    ),
}
#: Offset of the registers of cluster 0 in a machine of several; those of the others follow.
LAUNCHES, LAUNCH_BYTES = 0x40, 8
#: Offset of the exit code of core 0; those of the other cores follow.
EXIT_CODES = 0x80

DMA = {
    "dram": Register(offset=0x00, access="rw", meaning="DRAM byte address of the first row"),
    "dram_pitch": Register(offset=0x04, access="rw", meaning="bytes between rows in DRAM"),
    "local": Register(offset=0x08, access="rw", meaning="byte offset in shared memory"),
    "local_pitch": Register(offset=0x0C, access="rw", meaning="bytes between rows there"),
    "shape": Register(offset=0x10, access="rw", meaning="rows in 15:0, bytes per row in 31:16"),
    "fill": Register(
        offset=0x14, access="rw", meaning="load: zero-fill to rows in 15:0, bytes in 31:16"
    ),
    "start": Register(
        offset=0x18, access="w", meaning="enqueue a descriptor: 0 = load, 1 = store; stalls if full"
    ),
    "running": Register(offset=0x20, access="r", meaning="descriptors of this port in flight"),
    "loads_done": Register(offset=0x24, access="r", meaning="loads of this port done since reset"),
    "stores_done": Register(
        offset=0x28, access="r", meaning="stores of this port done since reset"
    ),
    "error": Register(
        offset=0x2C,
        access="rw",
        meaning="bit 0 AXI error response, bit 1 descriptor out of range; a write clears",
        effect="clear",
    ),
}

#: Registers that every kind of matrix unit has.
UNIT_REGISTERS = {
    "busy": Register(offset=0x20, access="r", meaning="1 while a command is unfinished"),
    "running": Register(offset=0x28, access="r", meaning="running loops, bits 3:0"),
    "cisc": Register(offset=0x30, access="w", meaning="CISC command word; issues it"),
    "computes_done": Register(offset=0x34, access="r", meaning="computes done since reset"),
    "error": Register(
        offset=0x38,
        access="rw",
        meaning="bit 0 illegal command, bit 1 out of range, bit 2 DMA failed; a write clears",
        effect="clear",
    ),
    "error_word": Register(offset=0x3C, access="r", meaning="command word of the first error"),
}

#: Registers of a systolic matrix unit.
MATRIX = {
    "instruction": Register(offset=0x00, access="w", meaning="RoCC instruction word; issues it"),
    "rs1_low": Register(offset=0x10, access="rw", meaning="rs1, bits 31:0"),
    "rs1_high": Register(offset=0x14, access="rw", meaning="rs1, bits 63:32"),
    "rs2_low": Register(offset=0x18, access="rw", meaning="rs2, bits 31:0"),
    "rs2_high": Register(offset=0x1C, access="rw", meaning="rs2, bits 63:32"),
    **UNIT_REGISTERS,
}
#: Offsets of the registers that receive command words.
INSTRUCTION_OFFSET, CISC_OFFSET = MATRIX["instruction"].offset, MATRIX["cisc"].offset


def numbered(name: str, number: int) -> str:
    """Return `name` with the instance number `number` appended, unless that is 0."""
    return name + (str(number) if number else "")


def in_cluster(cluster: int, name: str) -> str:
    """Return the name in the machine of a part of a cluster: that of cluster 0 has no prefix."""
    return f"cluster{cluster}_{name}" if cluster else name


def cluster_window(cluster: int) -> int:
    """Return the address at which all clusters have the shared memory of one of them."""
    return CLUSTER_WINDOWS + cluster * CLUSTER_WINDOW_BYTES


def unit_bases(matrices: int, *, has_dma: bool = True, clusters: int = 1) -> dict[str, int]:
    """Return the base address of each unit's registers, given the matrix units of a cluster.

    Each matrix unit has its own DMA port and a block of DMA registers for it, with its own
    descriptor counts. Without matrix units there is one DMA block, or none without a DMA. The
    blocks of a cluster follow each other, those of its DMA before those of its matrix units. A
    host sees the blocks of all clusters, a core those of its own, where cluster 0 has them.
    """
    ports = max(1, matrices) if has_dma else 0
    blocks = {"dma": (DMA_BASE, ports), "matrix": (MATRIX_BASE, matrices)}
    return {
        in_cluster(cluster, numbered(name, number)): base
        + (cluster * count + number) * MATRIX_STRIDE
        for cluster in range(clusters)
        for name, (base, count) in blocks.items()
        for number in range(count)
    }


def core_registers(cores: int, clusters: int = 1) -> dict[str, Register]:
    """Return the registers of the cores of a machine of `clusters` clusters of `cores` cores."""
    registers = dict(CORES)
    for cluster in range(clusters if clusters > 1 else 0):
        offset = LAUNCHES + cluster * LAUNCH_BYTES
        registers |= {
            f"entry_{cluster}": Register(
                offset=offset, access="rw", meaning=f"first instruction of cluster {cluster}"
            ),
            f"arguments_{cluster}": Register(
                offset=offset + 4, access="rw", meaning=f"address for the arguments of {cluster}"
            ),
        }
    meaning = "x3 of the thread that ended core {}"
    return registers | {
        f"exit_code_{core}": Register(
            offset=EXIT_CODES + 4 * core, access="r", meaning=meaning.format(core)
        )
        for core in range(clusters * cores)
    }
