"""Executor of programs on the RTL: common parts of all machines, and cores on a simple memory."""

from collections import Counter
from typing import Any, Generic, TypeVar

from ...hw.base.errors import UserError
from ...hw.config import ClusterConfig
from ...kernels.program import Program
from ..diagnose.core_diagnostics import core_diagnostics_text, explain_core
from ..diagnose.diagnostics import ProgramError
from ..harness.core_memory import CoreMemoryConfig
from ..harness.stop_reason import CoreStopReason
from ..machine.cluster_machine import ClusterMachine
from ..machine.core_machine import CoreMachine
from ..machine.core_outcome import CoreOutcome
from ..machine.memory_layout import MemoryLayout
from ..machine.stacks import core_of
from ..report.result import (
    ISSUED,
    core_section,
    instruction_section,
    issue_slots,
    memory_section,
    speed_section,
)
from ..trace import TRACE_SUFFIXES, write_trace
from .iss_executor import counted_instructions
from .loading import Progress
from .options import WAVEFORM, SimtOptions

__all__ = [
    "CoreExecutor",
    "RtlExecutor",
    "machine_options",
    "trace_options",
]

#: Cycles between two points at which a run can be interrupted or show progress.
CHUNK = 200_000
#: Suffixes of the traces of cores.
CORE_TRACES = (WAVEFORM, *TRACE_SUFFIXES)
NEVER = 1 << 62


def machine_options(options: SimtOptions) -> dict[str, Any]:
    """Return the constructor options common to all machines, except those of traces."""
    return {
        "engine": options.engine,
        "lockstep": options.lockstep,
        "gating": options.gating,
        "seed": options.seed,
        "optimize": options.model_optimize,
    }


def trace_options(options: SimtOptions) -> dict[str, Any]:
    """Return the constructor options for the requested trace."""
    if options.trace is None:
        return {}
    if options.trace.suffix not in CORE_TRACES:
        raise UserError(
            f"a trace of cores alone must end in one of {', '.join(CORE_TRACES)}, not "
            f"{options.trace.suffix}"
        )
    window = options.trace_window
    if options.trace.suffix == WAVEFORM:
        return {"vcd": str(options.trace), "window": window}
    return {"record": window or (0, NEVER)}


MachineT = TypeVar("MachineT", CoreMachine, ClusterMachine)
OutcomeT = TypeVar("OutcomeT", bound=CoreOutcome)


class RtlExecutor(Generic[MachineT, OutcomeT]):
    """A program in the memory of a machine on Verilator or Amaranth's simulator.

    Parameters
    ----------
    machine : CoreMachine or ClusterMachine
    program : Program
    memory_layout : MemoryLayout
    options : SimtOptions

    """

    machine: MachineT
    outcome: OutcomeT | None

    def __init__(
        self,
        machine: MachineT,
        program: Program,
        memory_layout: MemoryLayout,
        options: SimtOptions,
    ):
        self.machine, self.program, self.memory_layout, self.options = (
            machine,
            program,
            memory_layout,
            options,
        )
        self.write, self.read = machine.write, machine.read
        self.close = machine.close
        self.outcome = None
        self.notes: list[str] = []

    @property
    def device_errors(self) -> str:
        """Errors that devices report about the program, in words."""
        return ""

    @property
    def exit_code(self) -> int:
        """Exit code of the program, once it has ended."""
        return 0 if self.outcome is None else self.outcome.exit_code

    def run(self, max_cycles: int) -> OutcomeT:
        """Continue the run for at most `max_cycles` cycles."""
        raise NotImplementedError

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end; raise `ProgramError` on any other end. A trace is written at every end.

        Return False if the run was saved at its limit instead; `arguments` are saved with it.
        """

        def advance(limit: int) -> None:
            self.run_until(limit, sentence, progress)

        options, machine = self.options, self.machine
        if not options.saving.drive(machine, arguments, options.max_cycles, advance):
            return False
        self.write_trace()
        outcome = self.outcome
        assert outcome is not None, "the run must have a cycle limit"
        if outcome.stop is not CoreStopReason.DONE:
            diagnostics = explain_core(machine, self.program, self.memory_layout, outcome)
            raise ProgramError(diagnostics, core_diagnostics_text(diagnostics))
        return True

    def run_until(self, limit: int, sentence: str, progress: Progress | None) -> None:
        """Continue to the end, or to cycle `limit`."""
        done = self.machine.cycles
        while True:
            self.outcome = outcome = self.run(min(CHUNK, limit - done))
            done = outcome.cycles
            if outcome.stop is not CoreStopReason.LIMIT or done >= limit:
                return
            if progress is not None:
                progress(f"{sentence}, thousands of cycles", done // 1000, 0)

    def write_trace(self) -> None:
        """Write the recorded trace, if one is requested."""
        path = self.options.trace
        if path is not None and path.suffix != WAVEFORM:
            self.notes = write_trace(
                path, self.machine.records(), self.machine.config, self.program
            )

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        outcome = self.outcome
        assert outcome is not None, "the program has been executed"
        threads = core_of(self.machine.config).threads
        counters = self.machine.counters()
        counted = sum(map(Counter, counters), Counter())
        slots = [issue_slots(core) for core in outcome.slots]
        total = sum(map(Counter, slots), Counter())
        if self.machine.iss is None:
            counts = instruction_section(
                {"warp": outcome.instructions, "thread": counted["thread_instructions"]}
                | {name: counted[name] for name in ("loads", "stores", "divergent_splits")},
                threads,
            )
        else:
            counts = counted_instructions(self.machine.iss.statistics, threads)
        return {
            "cycles": outcome.cycles,
            "run_cycles": outcome.cycles,
            "instructions_per_cycle": outcome.instructions_per_cycle,
            "issue_utilization": total[ISSUED] / max(1, total.total()),
            "cores": [
                core_section(*core)
                for core in zip(outcome.core_instructions, slots, counters, strict=True)
            ],
            "clocked_cycles": outcome.clocked,
            **counts,
            "notes": self.notes,
            "console": self.machine.console.decode(errors="replace"),
            "speed": speed_section(cycles_per_second=outcome.cycles_per_second),
        }


class CoreExecutor(RtlExecutor[CoreMachine, CoreOutcome]):
    """A program in the simple memory of cores; see `RtlExecutor`."""

    @classmethod
    def build(
        cls,
        config: ClusterConfig,
        program: Program,
        memory_layout: MemoryLayout,
        options: SimtOptions,
        progress: Progress | None,
    ) -> "CoreExecutor":
        """Build the machine described by the options."""
        assert isinstance(options.memory, CoreMemoryConfig)
        machine = CoreMachine(
            config,
            memory=options.memory,
            progress=progress,
            **machine_options(options),
            **trace_options(options),
        )
        return cls(machine, program, memory_layout, options)

    def run(self, max_cycles: int) -> CoreOutcome:
        """Continue the run for at most `max_cycles` cycles."""
        return self.machine.run(max_cycles)

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        return super().account() | {"memory": memory_section(self.machine.memory)}
