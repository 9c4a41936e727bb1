"""Executor of a program: common part of the instruction-set model and of the RTL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.core.control.faults import FaultCause
from ...hw.isa.memory_map import ARGUMENTS, STACK_TOP
from ...kernels.program import Program
from ..diagnose.refused_command import RefusedCommand
from ..harness.stop_reason import StopReason
from ..iss.machine import Iss
from ..iss.outcome import Outcome
from ..machine.memory_layout import ARGUMENTS_BYTES, MemoryLayout
from ..machine.program_machine import ProgramMachine
from ..machine.program_outcome import ProgramOutcome
from .host_target import EXIT, HostTarget, remarks_on, system_calls
from .options import SimtOptions
from .workload import Console

__all__ = ["ProgramExecutor"]

#: Symbol of linkers: the value of gp in a program that does not end by it.
GLOBAL_POINTER = "__global_pointer$"

MachineT = TypeVar("MachineT", Iss, ProgramMachine)
OutcomeT = TypeVar("OutcomeT", Outcome, ProgramOutcome)


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
    #: Sentences of the run for its result.
    notes: Sequence[str] = ()

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
        self.host_target = HostTarget.of(program)

    def load(self, console: Console | None) -> None:
        """Load the program; only the program and its data are allowed."""
        self.machine.on_console = console
        for region in self.memory_layout.dram:
            self.machine.allow(region.address, region.nbytes)
        for address, data in self.program.segments:
            self.machine.write(address, data)
        if self.memory_layout.has_stacks:
            self.machine.limit_stacks(STACK_TOP, self.memory_layout.stacks_of.bytes_per_thread)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end; return False if the run was saved at its limit instead."""
        raise NotImplementedError

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        raise NotImplementedError

    @property
    def refused_command(self) -> RefusedCommand:
        """Description of a command that a matrix unit refused."""
        iss = self.machine if isinstance(self.machine, Iss) else self.machine.iss
        return RefusedCommand(self.memory_layout.config, self.program, iss)

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text; "" without an error."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        """Exit code of the program, valid after its end; 0 if it ended without one."""
        is_reported = self.host_target is not None and self.host_target.word
        exits = [code for number, code in self.calls if number == EXIT]
        if exits and not is_reported:
            return next(filter(None, exits), 0)
        if isinstance(self.outcome, ProgramOutcome):
            codes = self.outcome.exit_codes
        else:
            codes = self.machine.exit_codes if isinstance(self.machine, Iss) else ()
        # The linker's value of gp is no exit code.
        none = (0, self.program.symbols.get(GLOBAL_POINTER))
        code = next((code for code in codes if code & 0xFFFF_FFFF not in none), 0)
        return code if self.host_target is None else self.host_target.exit_code(code)

    @property
    def calls(self) -> list[tuple[int, int]]:
        """Number and first argument of the system calls that ended the program."""
        iss = self.machine if isinstance(self.machine, Iss) else self.machine.iss
        return [] if iss is None else system_calls(self.program, iss)

    def ended(self, outcome: OutcomeT) -> OutcomeT:
        """Return the outcome of a part of the run, done if only parked warps are left."""
        target = self.host_target
        if target is not None and outcome.stop is StopReason.DONE:
            target.read_word(self.machine)
        if target is None or outcome.stop is not StopReason.LIMIT:
            return outcome
        if not target.ends(self.machine):
            return outcome
        self.end_early()
        target.read_word(self.machine)
        return replace(outcome, stop=StopReason.DONE)

    def end_early(self) -> None:
        """Complete the writes of a program that ended while warps were active."""

    def require_arguments(self) -> None:
        """Raise `UserError` if the program stopped at arguments that it was not given."""
        fault = None if self.outcome is None else self.outcome.fault
        layout = self.memory_layout
        if layout.arguments.nbytes or fault is None or isinstance(fault.cause, FaultCause):
            return
        if fault.address is not None and 0 <= fault.address - ARGUMENTS < ARGUMENTS_BYTES:
            raise UserError(
                f"the program reads argument {(fault.address - ARGUMENTS) // 4} of "
                "spica_arguments() and was given none: give numbers and FILE.npy by --arg, or args "
                "of Machine.run"
            )

    @property
    def ending_remarks(self) -> list[str]:
        """Sentences on parked warps, and on system calls."""
        parked = [] if self.host_target is None else list(self.host_target.notes())
        return [*parked, *remarks_on(self.calls)]

    @property
    def ignored_races(self) -> int | None:
        """Loads that lockstep let pass although a fence was missing; None without lockstep."""
        return None

    def close(self) -> None:
        """Free the machine."""
