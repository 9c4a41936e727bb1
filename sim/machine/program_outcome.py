"""Outcome of a run of a program."""

from dataclasses import dataclass

from ...hw.core.control.faults import FaultCause
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ..harness.dram import ChannelStatistics
from ..harness.stop_reason import StopReason
from ..lockstep.missed_store import MissedStore
from .outcome import Outcome

__all__ = ["CoreFault", "ProgramOutcome", "UnitUse"]


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
class UnitUse:
    """Use of an execution unit of a core.

    Attributes
    ----------
    cycles : int
        Cycles in which it has an instruction: from its dispatch to its completion.
    lost : dict of str to int
        Empty issue slots that are charged to it, by the names of `StallReason`: with full
        collectors, those in which it has most of them; with a wait for registers or for earlier
        instructions, those in which it has the oldest instruction of the warps that wait.

    """

    cycles: int
    lost: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class ProgramOutcome(Outcome):
    """Results of cores since their start, and of the cluster around them; instructions are warps'.

    Cycles count from the start of the host, or of the cores if they are alone. Cores alone have
    no host, no DRAM channels, no markers, and no `waits`.

    Attributes
    ----------
    stop : StopReason
    core_instructions, issued : tuple of int
        By core: completed, and accepted by collectors.
    core_cycles : tuple of int
        By core: busy cycles with a known outcome of the issue slots. If a run stops early, the
        outcome of the last cycle is unknown.
    slots : tuple of dict
        By core: number of issue slots of each `StallReason`, by its name; ``NONE`` counts
        issued instructions. Their sum is `core_cycles` times the issue width.
    units : tuple of dict of str to UnitUse
        By core: use of each unit, by the names of `Port`.
    exit_codes : tuple of int
        Exit code of each core.
    fault : CoreFault or None
    mismatch : str
        First difference from the model, in words.
    missed : MissedStore or None
        The race that this difference is, if it is one.
    mismatch_cycle : int or None
        Cycle of this difference; None of a difference at the end of the run.
    ignored_races : int
        Loads that missed a store for want of a fence, and whose values the model took over.
    cores_end : int
        First cycle after which no core was busy.
    marks : tuple of (int or None, int or None)
        Per core: completion of its first begin marker and of its last end marker, those of
        `hw.isa.markers`.
    begins, ends : int
        Completed begin and end markers of all warps.
    marked_channels : tuple of ChannelStatistics
        Statistics of each channel from the first begin marker on; equal to `channels` without one.
    violation : str
        Violated AXI rule and its cycle.
    waits : str
        After ``HANG`` and ``DEADLOCK``: wait states of units, AXI and DRAM.

    """

    stop: StopReason
    core_instructions: tuple[int, ...]
    issued: tuple[int, ...]
    core_cycles: tuple[int, ...]
    slots: tuple[dict[str, int], ...]
    units: tuple[dict[str, UnitUse], ...]
    exit_codes: tuple[int, ...]
    fault: CoreFault | None
    mismatch: str
    missed: MissedStore | None
    mismatch_cycle: int | None
    ignored_races: int
    cores_end: int
    marks: tuple[tuple[int | None, int | None], ...]
    begins: int
    ends: int
    marked_channels: tuple[ChannelStatistics, ...]
    violation: str
    waits: str

    @property
    def instructions(self) -> int:
        """Completed instructions of all cores."""
        return sum(self.core_instructions)

    @property
    def exit_code(self) -> int:
        """First nonzero exit code of the cores, else 0."""
        return next(filter(None, self.exit_codes), 0)

    @property
    def instructions_per_cycle(self) -> float:
        """Instructions of all cores per cycle."""
        return self.instructions / max(self.cycles, 1)

    @property
    def flush_cycles(self) -> int:
        """Cycles of the final write-back: from the end of the last core to the end of the run."""
        return self.cycles - self.cores_end

    @property
    def first_begin(self) -> int | None:
        """Cycle of the first completed begin marker of any core."""
        return min((begin for begin, _ in self.marks if begin is not None), default=None)

    @property
    def last_end(self) -> int | None:
        """Cycle of the last completed end marker of any core."""
        return max((end for _, end in self.marks if end is not None), default=None)

    @property
    def measured(self) -> int | None:
        """Cycles from the first begin marker to the last end marker."""
        if self.first_begin is None or self.last_end is None:
            return None
        return self.last_end - self.first_begin
