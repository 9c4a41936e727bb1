"""What came of a run of cores."""

from dataclasses import dataclass, field

from ..hw.core.faults import FaultCause
from ..hw.core.memory_layouts import MemoryFault
from .stop_reason import CoreStop

__all__ = ["CoreFault", "CoreOutcome"]


@dataclass(frozen=True)
class CoreFault:
    """The first instruction that could not be executed.

    Attributes
    ----------
    core, warp, pc : int
        Whose instruction it was, and where it is.
    cause : FaultCause or MemoryFault
    lanes : int
        Mask of the threads concerned.
    address : int
        Of an access: that of the lowest of `lanes`. Of a misaligned jump: where it led. Else it
        means nothing.

    """

    core: int
    warp: int
    pc: int
    cause: FaultCause | MemoryFault
    lanes: int
    address: int


@dataclass(frozen=True)
class CoreOutcome:
    """What cores have done since they began; instructions are those of warps.

    Attributes
    ----------
    stop : CoreStop
    cycles : int
        From the first until the last core was idle, or until the run stopped.
    instructions : int
        Done, by all cores.
    core_instructions, issued : tuple of int
        By core: done, and handed to collectors.
    core_cycles : tuple of int
        By core: cycles in which it was busy, as far as it is known what its issue slots did. A run
        that stops early learns nothing of the last.
    slots : tuple of dict
        By core: how many issue slots went to each `StallReason`, by its name; ``NONE`` counts
        those in which an instruction was issued. Their sum is `core_cycles` times the issue width.
    exit_code : int
        The first of the cores' exit codes that is not 0, else 0.
    fault : CoreFault or None
    mismatch : str
        The first difference, in words.
    seconds : float
        Wall-clock time.
    clocked : dict
        Cycles in which each clock domain had its clock.

    """

    stop: CoreStop
    cycles: int
    instructions: int
    core_instructions: tuple[int, ...]
    issued: tuple[int, ...]
    core_cycles: tuple[int, ...]
    slots: tuple[dict[str, int], ...]
    exit_code: int
    fault: CoreFault | None = None
    mismatch: str = ""
    seconds: float = 0.0
    clocked: dict[str, int] = field(default_factory=dict)

    @property
    def instructions_per_cycle(self) -> float:
        """Instructions of all cores in each cycle."""
        return self.instructions / max(self.cycles, 1)

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.cycles / max(self.seconds, 1e-9)
