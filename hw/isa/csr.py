"""Control and status registers: one table for core, model, headers and documents."""

from dataclasses import dataclass

__all__ = ["COUNTER_NUMBERS", "CSRS", "Csr"]


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
