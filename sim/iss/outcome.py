"""Results of the instruction-set model: outcome of a run, effects of one instruction."""

import enum
from dataclasses import dataclass, field

import numpy as np

from ...hw.isa.encoding import RegisterClass
from ...hw.isa.operations import Unit
from ..harness.stop_reason import StopReason

__all__ = [
    "STOPS",
    "Access",
    "Cause",
    "Fault",
    "Outcome",
    "Partner",
    "Retired",
    "Statistics",
    "WarpState",
]


#: Stop reasons of the model, in the order of its C++ numbers.
STOPS = (StopReason.DONE, StopReason.FAULT, StopReason.DEADLOCK, StopReason.LIMIT)


class Cause(enum.Enum):
    """Cause of a fault, as text for messages."""

    ILLEGAL_INSTRUCTION = "illegal instruction"
    STACK_OVERFLOW = "stack overflow"
    STACK_UNDERFLOW = "stack underflow"
    MISALIGNED_JUMP = "misaligned jump"
    OUTSIDE_MEMORY = "access outside memory"
    MISALIGNED_ACCESS = "misaligned access"
    DIVERGENT_BRANCH = "divergent branch"
    BAD_BARRIER = "bad barrier"
    BAD_WSPAWN = "bad wspawn"
    BAD_WAIT = "bad wait"
    INACTIVE_THREADS = "inactive threads"
    STACK_EXCEEDED = "stack exceeded"
    RACE = "race"
    DEVICE = "device"


@dataclass(frozen=True)
class Partner:
    """The earlier one of two accesses that race.

    Attributes
    ----------
    what : str
        The access in words, with its warp: a store, a load, or a work of a unit.
    core, warp : int
        Warp of the access, or that started the work.
    pc : int
        Address of its instruction.
    advice : str
        What orders the two.

    """

    what: str
    core: int
    warp: int
    pc: int
    advice: str


@dataclass(frozen=True)
class Fault:
    """Instruction that could not be executed; the state of the machine is that before it.

    Attributes
    ----------
    cause : Cause
    core, warp : int
        Core and warp of the instruction.
    pc, word : int
        Address and encoding of the instruction; the word is 0 if the fetch failed.
    lanes : int
        Mask of the faulting lanes.
    address : int or None
        Faulting address of the lowest of these lanes, if any.
    sentence : str
        Complete message.
    partner : Partner or None
        Other access of a race.

    """

    cause: Cause
    core: int
    warp: int
    pc: int
    word: int
    lanes: int
    address: int | None
    sentence: str
    partner: Partner | None = None


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run.

    Attributes
    ----------
    stop : StopReason
    exit_code : int
        First exit code of a core that is not 0, else 0.
    instructions : int
        Warp-instructions retired in this run.
    fault : Fault or None
        The fault if `stop` is ``FAULT``.
    seconds : float
        Wall-clock time.

    """

    stop: StopReason
    exit_code: int
    instructions: int
    fault: Fault | None
    seconds: float


@dataclass(frozen=True)
class Access:
    """Memory access of a load or store, per lane; inactive lanes hold 0.

    Attributes
    ----------
    is_store : bool
    size : int
        Bytes of each lane.
    addresses, data : numpy.ndarray
        uint32; data as in memory, without extension.

    """

    is_store: bool
    size: int
    addresses: np.ndarray
    data: np.ndarray


@dataclass(frozen=True)
class Retired:
    """One instruction that retired, or faulted.

    Attributes
    ----------
    core, warp : int
    pc, word : int
    mask : int
        Active lanes before the instruction.
    rd : tuple of (RegisterClass, int), or None
        Destination register; None without one or for x0. Of tensor instructions the
        last accumulator.
    values : numpy.ndarray
        uint32, contents of `rd` afterwards, per lane.
    earlier : numpy.ndarray
        uint32, contents of the registers before `rd` that the instruction writes too, lowest
        first: (registers, lanes), none for most instructions.
    fault : Fault or None
    access : Access or None
        Access of a load or store, else None.

    """

    core: int
    warp: int
    pc: int
    word: int
    mask: int
    rd: tuple[RegisterClass, int] | None
    values: np.ndarray
    earlier: np.ndarray
    fault: Fault | None
    access: Access | None = None


@dataclass(frozen=True)
class StackEntry:
    """Open divergent split: lanes of both sides, lanes still to run, and their pc."""

    both: int
    rest: int
    pc: int
    is_second: bool


@dataclass(frozen=True)
class WarpState:
    """Copy of a warp's state.

    Attributes
    ----------
    pc, mask : int
    active : bool
    waits : str
        Barrier at which the warp waits, or register or phase of a transaction barrier for which it
        sleeps, as text; empty if it can run.
    sleeps : bool
        Whether it sleeps until a unit has made progress.
    awaits_phase : bool
        Whether it sleeps until a phase of a transaction barrier has completed.
    integers, floats : numpy.ndarray
        uint32, (32, threads).
    fflags, frm, mscratch, mepc : int
    stack : tuple of StackEntry
        Open divergent splits, innermost last.

    """

    pc: int
    mask: int
    active: bool
    waits: str
    sleeps: bool
    awaits_phase: bool
    integers: np.ndarray
    floats: np.ndarray
    fflags: int
    frm: int
    mscratch: int
    mepc: int
    stack: tuple[StackEntry, ...]


@dataclass(frozen=True)
class Statistics:
    """Counts since the last reset; instructions are warp-instructions.

    Attributes
    ----------
    instructions : int
    thread_instructions : int
        Sum of the active lanes of all instructions.
    units : dict of Unit to int
        Instructions by execution unit.
    mnemonics : dict of str to int
        Instructions by name, without zero counts.
    loads, stores : int
    divergent_splits : int
        Splits whose lanes disagreed.
    barriers : int
        Arrivals of warps at barriers.
    core_instructions : tuple of int
        Instructions of each core.

    """

    instructions: int
    thread_instructions: int
    units: dict[Unit, int] = field(default_factory=dict)
    mnemonics: dict[str, int] = field(default_factory=dict)
    loads: int = 0
    stores: int = 0
    divergent_splits: int = 0
    barriers: int = 0
    core_instructions: tuple[int, ...] = ()
