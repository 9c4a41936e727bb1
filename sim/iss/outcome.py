"""What a run of the instruction-set model comes to, and what one instruction did."""

import enum
from dataclasses import dataclass, field

import numpy as np

from ...hw.isa.encoding import RegisterFile
from ...hw.isa.instructions import Unit

__all__ = ["Access", "Cause", "Fault", "Outcome", "Retired", "Statistics", "Stop", "WarpState"]


class Stop(enum.Enum):
    """Why a run ended."""

    DONE = "done"
    FAULT = "fault"
    DEADLOCK = "deadlock"
    LIMIT = "limit"


class Cause(enum.Enum):
    """What a fault is, as a person says it."""

    ILLEGAL_INSTRUCTION = "illegal instruction"
    STACK_OVERFLOW = "stack overflow"
    STACK_UNDERFLOW = "stack underflow"
    MISALIGNED_JUMP = "misaligned jump"
    OUTSIDE_MEMORY = "access outside memory"
    MISALIGNED_ACCESS = "misaligned access"
    DIVERGENT_BRANCH = "divergent branch"
    BAD_BARRIER = "bad barrier"
    BAD_WSPAWN = "bad wspawn"
    DEVICE = "device"


@dataclass(frozen=True)
class Fault:
    """An instruction that could not be executed; the machine is as it was before it.

    Attributes
    ----------
    cause : Cause
    core, warp : int
        Whose instruction it was.
    pc, word : int
        Where it is and what it is; the word is 0 where nothing could be fetched.
    lanes : int
        Mask of the lanes concerned.
    address : int or None
        The address that was wrong, of the lowest of these lanes, where there is one.
    sentence : str
        All of this in words.

    """

    cause: Cause
    core: int
    warp: int
    pc: int
    word: int
    lanes: int
    address: int | None
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    stop : Stop
    exit_code : int
        The first of the cores' exit codes that is not 0, else 0.
    instructions : int
        Warp-instructions retired in this run.
    fault : Fault or None
        What went wrong, where `stop` is ``FAULT``.
    seconds : float
        Wall-clock time.

    """

    stop: Stop
    exit_code: int
    instructions: int
    fault: Fault | None
    seconds: float


@dataclass(frozen=True)
class Access:
    """What a load or store did in memory, by lane; lanes that are not active hold 0.

    Attributes
    ----------
    is_store : bool
    size : int
        Bytes of each lane.
    addresses, data : numpy.ndarray
        uint32; the data as it is in memory, without extension.

    """

    is_store: bool
    size: int
    addresses: np.ndarray
    data: np.ndarray


@dataclass(frozen=True)
class Retired:
    """One instruction that was executed, or was not because of a fault.

    Attributes
    ----------
    core, warp : int
    pc, word : int
    mask : int
        Active lanes before the instruction.
    rd : tuple of (RegisterFile, int), or None
        The register written, None where there is none or it is x0; tensor instructions write
        several, which are not told here.
    values : numpy.ndarray
        uint32, what `rd` holds afterwards, by lane.
    fault : Fault or None
    access : Access or None
        Of loads and stores.

    """

    core: int
    warp: int
    pc: int
    word: int
    mask: int
    rd: tuple[RegisterFile, int] | None
    values: np.ndarray
    fault: Fault | None
    access: Access | None = None


@dataclass(frozen=True)
class StackEntry:
    """A divergent split that is open: both sides' lanes, those still to run, and where."""

    both: int
    rest: int
    pc: int
    is_second: bool


@dataclass(frozen=True)
class WarpState:
    """A copy of what a warp holds.

    Attributes
    ----------
    pc, mask : int
    active : bool
    waits : str
        What it waits for, empty if it can run.
    integers, floats : numpy.ndarray
        uint32, (32, threads).
    fflags, frm, mscratch : int
    stack : tuple of StackEntry
        Open divergent splits, the innermost last.

    """

    pc: int
    mask: int
    active: bool
    waits: str
    integers: np.ndarray
    floats: np.ndarray
    fflags: int
    frm: int
    mscratch: int
    stack: tuple[StackEntry, ...]


@dataclass(frozen=True)
class Statistics:
    """What was executed since the last reset; instructions are warp-instructions.

    Attributes
    ----------
    instructions : int
    thread_instructions : int
        Sum of the active lanes of each.
    units : dict of Unit to int
        Instructions by what executes them.
    mnemonics : dict of str to int
        Instructions by name, those that occurred.
    loads, stores : int
    divergent_splits : int
        Splits whose lanes disagreed.
    barriers : int
        Arrivals of warps.
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
