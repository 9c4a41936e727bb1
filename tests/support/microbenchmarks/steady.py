"""Steady-state cost of instructions: difference between a long and a short program."""

from collections.abc import Callable
from dataclasses import dataclass

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.machine.program_outcome import ProgramOutcome

__all__ = ["LENGTHS", "Steady", "run_text", "steady"]

#: Lines of the two programs; multiples of all periods.
LENGTHS = (480, 1440)
#: Cycle limit, above the cost of all these programs.
LIMIT = 4_000_000


@dataclass(frozen=True)
class Steady:
    """Differences between a long and a short program.

    Attributes
    ----------
    cycles, instructions : int
        Of the core.
    lines : int
        Of each warp.

    """

    cycles: int
    instructions: int
    lines: int

    @property
    def ipc(self) -> float:
        """Instructions per cycle."""
        return self.instructions / self.cycles

    @property
    def step(self) -> float:
        """Cycles from a line to the next, of each warp."""
        return self.cycles / self.lines


def run_text(
    config: MachineConfig, text: str, *, memory: CoreMemoryConfig | None = None, **options
) -> ProgramOutcome:
    """Return the outcome of a program in assembly."""
    with ProgramMachine(config, memory=memory, **options) as machine:
        code = assemble_program(text).data
        machine.write(ENTRY, code)
        machine.allow(ENTRY, len(code))
        outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.DONE, outcome
    return outcome


def steady(
    config: MachineConfig,
    program: Callable[[int], str],
    *,
    lengths: tuple[int, int] = LENGTHS,
    memory: CoreMemoryConfig | None = None,
    **options,
) -> Steady:
    """Return the cost of the lines that a long program has in addition to a short one.

    Start and end of the machine are the same in both and cancel out.

    Parameters
    ----------
    config : MachineConfig
        Of one core.
    program : callable
        Returns the text of a program of this many lines for each warp.
    lengths : tuple of int
        Lines of the short and the long program.
    memory : CoreMemoryConfig or None
        Timing of memory.
    options
        Of `ProgramMachine`.

    """
    short, long = (
        run_text(config, program(length), memory=memory, **options) for length in lengths
    )
    return Steady(
        long.cycles - short.cycles,
        long.instructions - short.instructions,
        lengths[1] - lengths[0],
    )
