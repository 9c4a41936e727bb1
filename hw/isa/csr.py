"""Control and status registers: one table for cores, models, headers and documentation."""

from dataclasses import dataclass

from .operations import PORTS

__all__ = [
    "BLOCK_BIT",
    "BLOCK_PLACES",
    "COUNTERS",
    "COUNTER_BLOCKS",
    "COUNTER_NUMBERS",
    "COUNTER_PLACES",
    "CSRS",
    "CSR_NUMBERS",
    "PLACE_WIDTH",
    "USED_BLOCKS",
    "CounterBlock",
    "Csr",
    "CsrCounter",
]


@dataclass(frozen=True)
class Csr:
    """One control and status register.

    Parameters
    ----------
    name : str
        Name in assembly and headers.
    number : int
        Its address, 0 to 0xFFF.
    meaning : str
    access : str
        ``read``, ``write``, ``read-write``, or ``ignored``: reads 0, writes without effect.

    """

    name: str
    number: int
    meaning: str
    access: str = "read"


_TABLE = (
    Csr("fflags", 0x001, "accrued floating-point exceptions, of the warp", "read-write"),
    Csr("frm", 0x002, "dynamic rounding mode, of the warp", "read-write"),
    Csr("fcsr", 0x003, "frm and fflags", "read-write"),
    Csr("satp", 0x180, "no address translation", "ignored"),
    Csr("mstatus", 0x300, "no privilege modes", "ignored"),
    Csr("misa", 0x301, "RV32IMF"),
    Csr("medeleg", 0x302, "no traps", "ignored"),
    Csr("mideleg", 0x303, "no interrupts", "ignored"),
    Csr("mie", 0x304, "no interrupts", "ignored"),
    Csr("mtvec", 0x305, "no traps", "ignored"),
    Csr("mscratch", 0x340, "scratch word for programs, of the warp", "read-write"),
    Csr("mepc", 0x341, "address at which mret continues, of the warp", "read-write"),
    Csr("pmpcfg0", 0x3A0, "no memory protection", "ignored"),
    Csr("pmpaddr0", 0x3B0, "no memory protection", "ignored"),
    Csr("mnstatus", 0x744, "no traps", "ignored"),
    Csr("accel_cisc", 0xACC, "command word for the cluster's matrix units", "write"),
    Csr("mcycle", 0xB00, "cycles from the start to the end of the core, lower half"),
    Csr("minstret", 0xB02, "instructions retired, lower half"),
    Csr("mcycleh", 0xB80, "upper half of mcycle"),
    Csr("minstreth", 0xB82, "upper half of minstret"),
    Csr("thread_id", 0xCC0, "thread number within the warp"),
    Csr("warp_id", 0xCC1, "warp number within the core"),
    Csr("core_id", 0xCC2, "core number within the cluster"),
    Csr("warp_mask", 0xCC3, "active warps of the core"),
    Csr("thread_mask", 0xCC4, "active threads of the warp"),
    Csr("cluster_id", 0xCE8, "cluster number"),
    Csr("arguments", 0xCE9, "address of the arguments of the cluster's program"),
    Csr("mvendorid", 0xF11, "vendor"),
    Csr("marchid", 0xF12, "architecture"),
    Csr("mimpid", 0xF13, "implementation"),
    Csr("mhartid", 0xF14, "core of the machine, warp and thread, concatenated"),
    Csr("num_threads", 0xFC0, "threads of a warp"),
    Csr("num_warps", 0xFC1, "warps of a core"),
    Csr("num_cores", 0xFC2, "cores of a cluster"),
    Csr("local_mem_base", 0xFC3, "first byte of shared memory"),
    Csr("num_clusters", 0xFD0, "number of clusters"),
)

#: All registers by name.
CSRS: dict[str, Csr] = {csr.name: csr for csr in _TABLE}


@dataclass(frozen=True)
class CounterBlock:
    """CSR numbers of 32 performance counters: of their lower and of their upper halves.

    Both ranges are aligned. Bit `BLOCK_BIT` of a number selects the block.
    """

    low: range
    high: range

    @property
    def halves(self) -> tuple[range, range]:
        """Numbers of the lower halves, and of the upper halves."""
        return self.low, self.high


#: Performance counters by their place, 32 in each block: the machine counters of RISC-V, then
#: numbers that RISC-V leaves to each machine.
COUNTER_BLOCKS = (
    CounterBlock(low=range(0xB00, 0xB20), high=range(0xB80, 0xBA0)),
    CounterBlock(low=range(0xBC0, 0xBE0), high=range(0xBE0, 0xC00)),
)
#: Bit of the number of a counter that is set in the second block only.
BLOCK_BIT = 6
BLOCK_PLACES = 32


@dataclass(frozen=True)
class CsrCounter:
    """One performance counter of a core.

    Programs read its halves separately. To get a consistent value, read the upper half, the lower
    half and the upper half again, and retry if the upper half has changed, as on RISC-V.

    Parameters
    ----------
    name : str
        Name in assembly, headers and reports.
    place : int
        Block and index in both of its ranges: 32 places in each of `COUNTER_BLOCKS`.
    meaning : str
        The quantity counted since reset.

    """

    name: str
    place: int
    meaning: str

    @property
    def number(self) -> int:
        """CSR number of the lower half."""
        block, index = divmod(self.place, BLOCK_PLACES)
        return COUNTER_BLOCKS[block].low[index]

    @property
    def high_number(self) -> int:
        """CSR number of the upper half."""
        block, index = divmod(self.place, BLOCK_PLACES)
        return COUNTER_BLOCKS[block].high[index]


_COUNTERS = (
    CsrCounter("cycles", 0, "cycles from the start to the end of the core: mcycle"),
    CsrCounter("instructions", 2, "instructions done, each by a transfer on a bus: minstret"),
    # Each of these cycles has one slot per instruction of the issue width.
    CsrCounter("slots_none", 3, "issue slots used"),
    CsrCounter("slots_collectors_full", 4, "empty slots: no free collector"),
    CsrCounter("slots_dual_issue", 5, "empty slots: the next instruction cannot dual-issue"),
    CsrCounter(
        "slots_inactive_set", 6, "empty slots: ready, but outside the scheduler's active set"
    ),
    CsrCounter("slots_scoreboard", 7, "empty slots: a register is pending"),
    CsrCounter("slots_memory", 8, "empty slots: a register is pending on a load"),
    CsrCounter("slots_drain", 9, "empty slots: earlier instructions must complete first"),
    CsrCounter("slots_blocked", 10, "empty slots: a branch or control instruction executes"),
    CsrCounter("slots_no_instruction", 11, "empty slots: the instruction buffers are empty"),
    CsrCounter("slots_barrier", 12, "empty slots: all warps wait at barriers or for units"),
    CsrCounter("slots_idle", 13, "empty slots: no warp is active"),
    *(
        CsrCounter(
            f"operations_{port.name.lower()}", info.counter, f"operations of the {info.name}"
        )
        for port, info in PORTS.items()
        if info.counter is not None
    ),
    CsrCounter("loads", 19, "loads of the load-store unit"),
    CsrCounter("stores", 20, "stores of the load-store unit"),
    CsrCounter("memory_requests", 21, "requests to data memory, each of one or more lanes"),
    CsrCounter("fetches", 22, "requests to instruction memory, each of two words"),
    CsrCounter("register_reads", 23, "rows read from register banks"),
    CsrCounter("register_writes", 24, "rows written to register banks"),
    CsrCounter("read_conflicts", 25, "bank cycles in which a collector had to wait"),
    CsrCounter("write_conflicts", 26, "bank cycles in which a writeback bus had to wait"),
    CsrCounter("operands_snooped", 27, "operands taken from a bus instead of a bank"),
    CsrCounter("collectors_occupied", 28, "occupied collectors, summed over all cycles"),
    CsrCounter("thread_instructions", 29, "threads of all instructions done"),
    CsrCounter("divergent_splits", 30, "splits with threads on both sides"),
)

#: All performance counters by name; the other registers of ``COUNTER_NUMBERS`` read 0.
COUNTERS: dict[str, CsrCounter] = {counter.name: counter for counter in _COUNTERS}

#: Blocks up to that of the last counter. Programs may read all of their numbers, so all must exist.
USED_BLOCKS = COUNTER_BLOCKS[: 1 + max(one.place for one in _COUNTERS) // BLOCK_PLACES]
COUNTER_NUMBERS = tuple(numbers for block in USED_BLOCKS for numbers in block.halves)
#: Places of these blocks, and the width of a place.
COUNTER_PLACES = BLOCK_PLACES * len(USED_BLOCKS)
PLACE_WIDTH = (COUNTER_PLACES - 1).bit_length()

#: Numbers by assembly name; the upper half of a counter has the suffix ``_high``.
CSR_NUMBERS: dict[str, int] = {
    **{csr.name: csr.number for csr in CSRS.values()},
    **{counter.name: counter.number for counter in _COUNTERS},
    **{f"{counter.name}_high": counter.high_number for counter in _COUNTERS},
}
