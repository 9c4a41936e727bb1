"""Control and status registers: one table for core, model, headers and documents."""

from dataclasses import dataclass

__all__ = ["COUNTERS", "COUNTER_NUMBERS", "CSRS", "CSR_NUMBERS", "Csr", "CsrCounter"]


@dataclass(frozen=True)
class Csr:
    """One register.

    Parameters
    ----------
    name : str
        As assembly and headers name it.
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
    Csr("mie", 0x304, "no interrupts", "ignored"),
    Csr("mtvec", 0x305, "no traps", "ignored"),
    Csr("mscratch", 0x340, "a word for programs, of the warp", "read-write"),
    Csr("mepc", 0x341, "no traps", "ignored"),
    Csr("pmpcfg0", 0x3A0, "no memory protection", "ignored"),
    Csr("pmpaddr0", 0x3B0, "no memory protection", "ignored"),
    Csr("mnstatus", 0x744, "no traps", "ignored"),
    Csr("accel_cisc", 0xACC, "command word for the cluster's matrix units", "write"),
    Csr("mcycle", 0xB00, "cycles in which the core was busy, lower half"),
    Csr("minstret", 0xB02, "instructions retired, lower half"),
    Csr("mcycleh", 0xB80, "upper half of mcycle"),
    Csr("minstreth", 0xB82, "upper half of minstret"),
    Csr("thread_id", 0xCC0, "number of the thread in its warp"),
    Csr("warp_id", 0xCC1, "number of the warp in its core"),
    Csr("core_id", 0xCC2, "number of the core"),
    Csr("warp_mask", 0xCC3, "active warps of the core"),
    Csr("thread_mask", 0xCC4, "active threads of the warp"),
    Csr("mvendorid", 0xF11, "vendor"),
    Csr("marchid", 0xF12, "architecture"),
    Csr("mimpid", 0xF13, "implementation"),
    Csr("mhartid", 0xF14, "core, warp and thread, side by side"),
    Csr("num_threads", 0xFC0, "threads of a warp"),
    Csr("num_warps", 0xFC1, "warps of a core"),
    Csr("num_cores", 0xFC2, "cores in all"),
    Csr("local_mem_base", 0xFC3, "first byte of shared memory"),
)

#: Every register by its name.
CSRS: dict[str, Csr] = {csr.name: csr for csr in _TABLE}

#: Numbers of the performance counters, of their lower and of their upper halves; programs read
#: all of them, so that none may be missing.
COUNTER_NUMBERS = (range(0xB00, 0xB20), range(0xB80, 0xBA0))


@dataclass(frozen=True)
class CsrCounter:
    """One performance counter of a core.

    Programs read its halves one after the other. What they read is of one moment if the upper
    half is the same when it is read again afterwards: read it, the lower, and it again, and begin
    anew where it has changed, as RISC-V programs do.

    Parameters
    ----------
    name : str
        As assembly, headers and reports name it.
    place : int
        Its place in both of ``COUNTER_NUMBERS``.
    meaning : str
        What it counts since reset.

    """

    name: str
    place: int
    meaning: str

    @property
    def number(self) -> int:
        """Address of its lower half."""
        return COUNTER_NUMBERS[0][self.place]

    @property
    def high_number(self) -> int:
        """Address of its upper half."""
        return COUNTER_NUMBERS[1][self.place]


_COUNTERS = (
    CsrCounter("cycles", 0, "cycles in which the core was busy: mcycle"),
    CsrCounter("instructions", 2, "instructions done, each by a transfer on a bus: minstret"),
    # A slot for each instruction that may be issued in a cycle in which the core is busy.
    CsrCounter("slots_none", 3, "issue slots used"),
    CsrCounter("slots_full", 4, "empty slots: the instruction before waits for a collector"),
    CsrCounter("slots_pair", 5, "empty slots: what follows cannot go with the one beside it"),
    CsrCounter("slots_outside", 6, "empty slots: ready, but outside the scheduler's active set"),
    CsrCounter("slots_data", 7, "empty slots: a register is pending"),
    CsrCounter("slots_memory", 8, "empty slots: a register is pending that a load brings"),
    CsrCounter("slots_drain", 9, "empty slots: what was issued before has to be done first"),
    CsrCounter("slots_blocked", 10, "empty slots: a branch or control is being carried out"),
    CsrCounter("slots_no_instruction", 11, "empty slots: the instruction buffers are empty"),
    CsrCounter("slots_barrier", 12, "empty slots: all wait at barriers"),
    CsrCounter("slots_idle", 13, "empty slots: no warp is active"),
    CsrCounter("operations_int", 14, "operations that the integer unit took"),
    CsrCounter("operations_fp32", 15, "operations that the floating-point unit took"),
    CsrCounter("operations_divide", 16, "operations that the unit of quotients and roots took"),
    CsrCounter("operations_special", 17, "operations that the unit of special functions took"),
    CsrCounter("operations_control", 18, "operations that control took"),
    CsrCounter("loads", 19, "loads that the load and store unit took"),
    CsrCounter("stores", 20, "stores that it took"),
    CsrCounter("memory_requests", 21, "requests that data memory took, of a lane each or more"),
    CsrCounter("fetches", 22, "requests that instruction memory took, of two words each"),
    CsrCounter("register_reads", 23, "rows that register banks read"),
    CsrCounter("register_writes", 24, "rows that register banks wrote"),
    CsrCounter("read_conflicts", 25, "cycles of banks in which a collector had to wait for one"),
    CsrCounter("write_conflicts", 26, "cycles of banks in which a bus had to wait for one"),
    CsrCounter("operands_snooped", 27, "operands taken from a bus instead of a bank"),
    CsrCounter("collectors_occupied", 28, "collectors in use, summed over all cycles"),
    CsrCounter("thread_instructions", 29, "threads of all instructions done"),
    CsrCounter("divergent_splits", 30, "splits with threads on both sides"),
)

#: Every performance counter by its name; what the others of ``COUNTER_NUMBERS`` hold is 0.
COUNTERS: dict[str, CsrCounter] = {counter.name: counter for counter in _COUNTERS}

#: Numbers by all names that assembly takes; of counters that of the upper half ends in ``_high``.
CSR_NUMBERS: dict[str, int] = {
    **{csr.name: csr.number for csr in CSRS.values()},
    **{counter.name: counter.number for counter in _COUNTERS},
    **{f"{counter.name}_high": counter.high_number for counter in _COUNTERS},
}
