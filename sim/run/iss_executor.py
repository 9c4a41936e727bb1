"""Program executor on the instruction-set model."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from ...base.progress import Progress
from ...kernels.program import Program
from ..diagnose.diagnostics import ProgramError, explain
from ..diagnose.findings import explain_findings
from ..harness.error_registers import describe_faults
from ..harness.stop_reason import StopReason
from ..iss.machine import Iss
from ..iss.outcome import Outcome, Statistics
from ..machine.stacks import core_of
from ..report.result import core_section, instruction_section, speed_section
from .host_target import CHECKED_INSTRUCTIONS
from .memory_states import prepare_memory_check
from .program_executor import ProgramExecutor
from .workload import Console

__all__ = ["IssExecutor", "counted_instructions"]

#: Instructions between two checks for an interrupt and progress reports.
CHUNK = 2_000_000
#: Function of the runtime that clears all variables before `main`.
CLEARING = "spica_clear"
#: Symbols of the linker script around flags: cleared ones, and those that are not.
FLAG_REGIONS = (("__flags_begin", "__flags_end"), ("__unset_flags_begin", "__unset_flags_end"))


class IssExecutor(ProgramExecutor[Iss]):
    """Executor of a program in the memory of the instruction-set model."""

    instructions = 0
    seconds = 0.0

    def load(self, console: Console | None) -> None:
        """Load the program, and reset the model to its entry."""
        super().load(console)
        for address, nbytes in flag_regions(self.program):
            self.machine.add_flags(address, nbytes)
        for function in self.program.functions:
            if function.name == CLEARING and function.start in self.program.runtime:
                self.machine.allow_clearing(range(function.start, function.end))
        if self.machine.memory_check is not None:
            prepare_memory_check(self.machine.memory_check, self.program, self.memory_layout)
        self.machine.reset(self.program.entry)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end and return True; raise `ProgramError` on any other end or a finding."""
        outcome = self.advance(sentence, progress, self.options.max_instructions)
        if outcome.stop is not StopReason.DONE:
            self.require_arguments()
        if outcome.stop is not StopReason.DONE or self.findings:
            raise self.error(outcome)
        return True

    def advance(self, sentence: str, progress: Progress | None, limit: int) -> Outcome:
        """Run to the end or to a limit of instructions; return the outcome of the whole run."""
        began = time.perf_counter()
        chunk = CHUNK if self.host_target is None else CHECKED_INSTRUCTIONS
        while True:
            left = limit - self.instructions
            outcome = self.ended(self.machine.run(min(chunk, left)))
            self.instructions += outcome.instructions
            if outcome.stop is not StopReason.LIMIT or self.instructions >= limit:
                break
            if progress is not None:
                done = self.instructions // 1_000_000
                progress(f"{sentence}, millions of instructions", done, 0)
        self.seconds = time.perf_counter() - began
        self.outcome = outcome
        return dataclasses.replace(outcome, instructions=self.instructions)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Findings of the memory check so far, for a result."""
        check = self.machine.memory_check
        findings = [] if check is None else check.findings()
        return explain_findings(findings, self.program, self.memory_layout) if findings else []

    def error(self, outcome: Outcome) -> ProgramError:
        """Return the error of a run that did not end, or that has findings."""
        explanation = explain(self.machine, self.program, self.memory_layout, outcome)
        report = explanation | {"findings": self.findings}
        return ProgramError(self.program, report, self.machine.core)

    @property
    def device_errors(self) -> str:
        """Errors in the units' error registers, as text; "" without an error."""
        return describe_faults(self.machine.devices.errors(), self.refused_command)

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        counts = self.machine.statistics
        return {
            "notes": self.ending_remarks,
            "cores": [core_section(instructions) for instructions in counts.core_instructions],
            **counted_instructions(counts, core_of(self.memory_layout.config).threads),
            "console": self.machine.console.decode(errors="replace"),
            "speed": speed_section(
                instructions_per_second=self.instructions / max(self.seconds, 1e-9)
            ),
        }


def counted_instructions(counts: Statistics, threads: int) -> dict[str, Any]:
    """Return `instruction_section` of the model's counts; warps have `threads` threads."""
    return instruction_section(
        {
            "warp": counts.instructions,
            "thread": counts.thread_instructions,
            "loads": counts.loads,
            "stores": counts.stores,
            "divergent_splits": counts.divergent_splits,
            "barriers": counts.barriers,
            "by_unit": {unit.value: count for unit, count in counts.units.items()},
            "by_name": counts.mnemonics,
        },
        threads,
    )


def flag_regions(program: Program) -> Iterator[tuple[int, int]]:
    """Yield addresses and sizes of a program's flags (``SPICA_FLAG``)."""
    for begin, end in FLAG_REGIONS:
        if begin in program.symbols:
            yield program.symbols[begin], program.symbols[end] - program.symbols[begin]
