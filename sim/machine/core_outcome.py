"""Outcome of a run of cores."""

from dataclasses import dataclass, field

from ...hw.core.control.faults import FaultCause
from ...hw.core.units.lsu.memory_layouts import MemoryFault
from ..harness.stop_reason import CoreStopReason

__all__ = ["CoreFault", "CoreOutcome"]


@dataclass(frozen=True)
class CoreFault:
    """The first instruction that could not be executed.

    Attributes
    ----------
    core, warp, pc : int
        Position of the instruction.
    cause : FaultCause or MemoryFault
    lanes : int
        Mask of the threads concerned.
    address : int
        Of an access: address of the lowest of `lanes`. Of a misaligned jump: its target.
        Undefined for other faults.

    """

    core: int
    warp: int
    pc: int
    cause: FaultCause | MemoryFault
    lanes: int
    address: int


@dataclass(frozen=True)
class CoreOutcome:
    """Results of cores since their start; instructions are those of warps.

    Attributes
    ----------
    stop : CoreStopReason
    cycles : int
        From the first cycle until the last core was idle, or until the run stopped.
    instructions : int
        Completed instructions of all cores.
    core_instructions, issued : tuple of int
        By core: completed, and accepted by collectors.
    core_cycles : tuple of int
        By core: busy cycles with a known outcome of the issue slots. If a run stops early, the
        outcome of the last cycle is unknown.
    slots : tuple of dict
        By core: number of issue slots of each `StallReason`, by its name; ``NONE`` counts
        issued instructions. Their sum is `core_cycles` times the issue width.
    exit_code : int
        First nonzero exit code of the cores, else 0.
    fault : CoreFault or None
    mismatch : str
        First difference from the model, in words.
    seconds : float
        Wall-clock time in seconds.
    clocked : dict
        Clocked cycles of each clock domain.

    """

    stop: CoreStopReason
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
        """Instructions of all cores per cycle."""
        return self.instructions / max(self.cycles, 1)

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.cycles / max(self.seconds, 1e-9)
