"""Executor of a program: common part of the instruction-set model and of the RTL."""

from typing import Any, Generic, TypeVar

from ...hw.base.progress import Progress
from ...hw.isa.memory_map import STACK_BYTES, STACK_TOP
from ...kernels.program import Program
from ..iss.machine import Iss
from ..iss.outcome import Outcome
from ..machine.memory_layout import MemoryLayout
from ..machine.program_machine import ProgramMachine
from ..machine.program_outcome import ProgramOutcome
from ..machine.stacks import has_usual_stacks
from .options import SimtOptions
from .workload import Console

__all__ = ["ProgramExecutor"]

MachineT = TypeVar("MachineT", Iss, ProgramMachine)


class ProgramExecutor(Generic[MachineT]):
    """A program in the memory of a machine; its interface is that of `workload.Executor`.

    Parameters
    ----------
    machine : Iss or ProgramMachine
        Machine after reset.
    program : Program
    memory_layout : MemoryLayout
        Memory regions that the program may access.
    options : SimtOptions

    """

    outcome: Outcome | ProgramOutcome | None = None

    def __init__(
        self,
        machine: MachineT,
        program: Program,
        memory_layout: MemoryLayout,
        options: SimtOptions,
    ):
        self.machine, self.program = machine, program
        self.memory_layout, self.options = memory_layout, options
        self.write, self.read = machine.write, machine.read

    def load(self, console: Console | None) -> None:
        """Load the program; only the program and its data are allowed."""
        self.machine.on_console = console
        for region in self.memory_layout.dram:
            self.machine.allow(region.address, region.nbytes)
        for address, data in self.program.segments:
            self.machine.write(address, data)
        if has_usual_stacks(self.program):
            self.machine.limit_stacks(STACK_TOP, STACK_BYTES)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end; return False if the run was saved at its limit instead."""
        raise NotImplementedError

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        raise NotImplementedError

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text; "" without an error."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        """Exit code of the program, valid after its end."""
        return 0 if self.outcome is None else self.outcome.exit_code

    @property
    def ignored_races(self) -> int | None:
        """Loads that lockstep let pass although a fence was missing; None without lockstep."""
        return None

    def close(self) -> None:
        """Free the machine."""
