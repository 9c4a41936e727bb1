"""Executor of programs on the RTL: cores with a simple memory, or a cluster with DRAM."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...kernels.program import Program
from ..diagnose.core_diagnostics import core_diagnostics_text, explain_core
from ..diagnose.diagnostics import ProgramError
from ..diagnose.source_profile import source_profile
from ..harness.dram import DramConfig, traffic
from ..harness.error_registers import describe_faults
from ..harness.load_latency import summed
from ..harness.profile import polled
from ..harness.stop_reason import StopReason
from ..machine.memory_layout import MemoryLayout
from ..machine.program_machine import NEVER, ProgramMachine
from ..machine.program_outcome import ProgramOutcome
from ..machine.stacks import core_of
from ..machine.unit_report import flush_caches, read_faults
from ..report.result import (
    ISSUED,
    core_section,
    instruction_section,
    issue_slots,
    memory_section,
    region_section,
    speed_section,
    traffic_section,
    unit_section,
)
from ..trace import TRACE_SUFFIXES, write_trace
from .difference_trace import record_difference, window_before
from .host_target import CHECKED_CYCLES
from .iss_executor import counted_instructions
from .model_choice import Work, composed
from .options import WAVEFORM, SimtOptions
from .overview_recording import drawn
from .program_executor import ProgramExecutor

__all__ = ["RtlExecutor", "build_machine"]

#: Symbol of the linker script: bytes of marks of `spica_begin`, 0 without any.
OWN_MARKERS = "spica_own_markers"
#: Cycles between two points at which a run can be interrupted or show progress.
CHUNK = 200_000
#: Suffixes of the traces of cores.
CORE_TRACES = (WAVEFORM, *TRACE_SUFFIXES)


def trace_options(options: SimtOptions) -> dict[str, Any]:
    """Return the constructor options for the requested trace."""
    if options.trace is None or (options.overview and isinstance(options.memory, DramConfig)):
        return {}
    if options.trace.suffix not in CORE_TRACES:
        raise UserError(
            f"a trace of cores alone must end in one of {', '.join(CORE_TRACES)}, not "
            f"{options.trace.suffix}"
        )
    window = options.trace_window
    if options.trace.suffix == WAVEFORM:
        return {"vcd": str(options.trace), "windows": options.waveform_windows}
    return {"record": window or (0, NEVER)}


def build_machine(
    config: MachineConfig,
    program: Program,
    options: SimtOptions,
    progress: Progress | None,
    work: Work | None,
) -> ProgramMachine:
    """Build the machine that the options select; `work` is that of the program, if known."""
    machine = ProgramMachine(
        config,
        memory=options.memory,
        engine=options.engine,
        lockstep=options.lockstep,
        ignores_races=options.races == "ignore",
        gating=options.gating,
        seed=options.seed,
        optimize=options.model_optimize,
        composed=composed(config, options, work),
        progress=progress,
        **trace_options(options),
    )
    if isinstance(options.memory, DramConfig) or options.profile:
        machine.profiled = program
    return machine


class RtlExecutor(ProgramExecutor[ProgramMachine]):
    """Executor of a program on Verilator or Amaranth's simulator, on cores or a cluster."""

    #: Sentences on checks that came before the run.
    check_remarks: Sequence[str] = ()

    def __init__(
        self,
        machine: ProgramMachine,
        program: Program,
        memory_layout: MemoryLayout,
        options: SimtOptions,
    ):
        super().__init__(machine, program, memory_layout, options)
        self.image: list[tuple[int, bytes | np.ndarray]] = []
        self.write = self.write_image

    def write_image(self, address: int, data: bytes | np.ndarray) -> None:
        """Write bytes to memory, and keep them for a second run."""
        self.image.append((address, data))
        self.machine.write(address, data)

    @property
    def is_cluster(self) -> bool:
        """Whether the machine is a cluster with DRAM."""
        return isinstance(self.machine.memory, DramConfig)

    def close(self) -> None:
        """Free the machine."""
        self.machine.close()

    def end_early(self) -> None:
        """Write the caches back: dumps and a word ``tohost`` are read from DRAM."""
        if self.is_cluster:
            flush_caches(self.machine)

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text."""
        if not self.is_cluster:
            return ""
        faults = read_faults(self.machine, self.machine.config)
        return describe_faults(faults, self.refused_command)

    @property
    def ignored_races(self) -> int | None:
        """Loads that lockstep let pass although a fence was missing; None without lockstep."""
        if self.machine.iss is None or not isinstance(self.outcome, ProgramOutcome):
            return None
        return self.outcome.ignored_races

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end; raise `ProgramError` on any other end. A trace is written at every end.

        Return False if the run was saved at its limit instead; `arguments` are saved with it.
        """
        options, machine = self.options, self.machine

        def advance(limit: int) -> None:
            self.run_until(limit, sentence, progress)

        title = sentence.removeprefix("running ")
        drawing = drawn(machine, machine.config, options, title, self.program)
        with drawing if self.is_cluster else nullcontext():
            if not options.saving.drive(machine, arguments, options.max_cycles, advance):
                return False
        self.write_trace()
        outcome = self.outcome
        assert isinstance(outcome, ProgramOutcome), "the run must have a cycle limit"
        if outcome.stop is not StopReason.DONE:
            self.require_arguments()
            trace = self.trace_difference(outcome.mismatch_cycle)
            diagnostics = explain_core(machine, self.program, self.memory_layout, outcome, trace)
            text = core_diagnostics_text(diagnostics)
            core = core_of(self.memory_layout.config)
            raise ProgramError(self.program, diagnostics, core, text)
        return True

    def trace_difference(self, cycle: int | None) -> Path | None:
        """Return the trace of the cycles before a difference, by a second run from the start.

        None without a difference, and for a run that began at a checkpoint.
        """
        if cycle is None or self.options.saving.restored is not None:
            return None
        with self.machine.twin(window_before(cycle)) as twin:
            again = RtlExecutor(twin, self.program, self.memory_layout, self.options)
            again.load(None)
            for address, data in self.image:
                again.write(address, data)
            return record_difference(twin, self.program, cycle)

    def run_until(self, limit: int, sentence: str, progress: Progress | None) -> None:
        """Continue to the end, or to cycle `limit`."""
        done = self.machine.cycles
        chunk = CHUNK if self.host_target is None else CHECKED_CYCLES
        while True:
            self.outcome = outcome = self.ended(self.machine.run(min(chunk, limit - done)))
            done = outcome.cycles
            if outcome.stop is not StopReason.LIMIT or done >= limit:
                return
            if progress is not None:
                progress(f"{sentence}, thousands of cycles", done // 1000, 0)

    def write_trace(self) -> None:
        """Write the recorded trace, if one is requested."""
        path = self.options.trace
        if path is not None and "record" in trace_options(self.options):
            self.notes = write_trace(
                path, self.machine.records(), self.machine.config, self.program
            )

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        outcome = self.outcome
        assert isinstance(outcome, ProgramOutcome), "the program has been executed"
        threads = self.machine.core.threads
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
        account = {
            "cycles": outcome.cycles,
            "run_cycles": outcome.cycles,
            "instructions_per_cycle": outcome.instructions_per_cycle,
            "issue_utilization": total[ISSUED] / max(1, total.total()),
            "cores": [
                core_section(*core)
                for core in zip(
                    outcome.core_instructions,
                    slots,
                    counters,
                    map(unit_section, outcome.units),
                    strict=True,
                )
            ],
            "clocked_cycles": outcome.clocked,
            **counts,
            "notes": [*self.notes, *self.ending_remarks, *self.check_remarks],
            "console": self.machine.console.decode(errors="replace"),
            "memory": memory_section(self.machine.memory),
            "speed": speed_section(
                model=self.machine.verilated, cycles_per_second=outcome.cycles_per_second
            ),
        }
        for core, (begin, end) in zip(account["cores"], outcome.marks, strict=True):
            core["region"] = region_section(begin, end)
        is_marked = self.program.symbols.get(OWN_MARKERS) != 0
        account["region"] = region = marked_region(outcome, is_marked=is_marked)
        if region is not None:
            account["cycles"] = region["end"] - region["begin"]
        if self.options.profile:
            assert self.machine.profiling is not None
            account["source_profile"] = source_profile(self.program, self.machine.profiling)
        return account | self.cluster_account(outcome, account) if self.is_cluster else account

    def cluster_account(self, outcome: ProgramOutcome, account: dict[str, Any]) -> dict[str, Any]:
        """Return the sections on units and DRAM."""
        machine, dram = self.machine, self.machine.memory
        assert isinstance(dram, DramConfig)
        whole = traffic(outcome.channels, outcome.cycles, dram.bytes_per_cycle)
        marked = None
        if account["region"] is not None:
            # All traffic from the first marker to the end of the run, when DRAM holds everything.
            cycles = outcome.cycles - account["region"]["begin"]
            marked = traffic(outcome.marked_channels, cycles, dram.bytes_per_cycle)
        profile = machine.profile()
        return {
            "instructions": account["instructions"] | {"polling": polled(profile).instructions},
            "flush_cycles": outcome.flush_cycles,
            "profile": {name: dataclasses.asdict(spent) for name, spent in profile.items()},
            "counters": machine.cluster.events(),
            "load_latency": {
                place: summed(cores) for place, cores in machine.cluster.load_latency().items()
            },
            "cache_latency": {
                cache: summed(parts, by="slice" if cache == "l2" else "core")
                for cache, parts in machine.cluster.cache_latency().items()
            },
            "memory": memory_section(dram, traffic_section(whole, marked)),
        }


def marked_region(outcome: ProgramOutcome, *, is_marked: bool) -> dict[str, Any] | None:
    """Return the measured region; None if no begin marker was executed.

    It lasts from the first begin marker, of start-up code unless the program `is_marked`, to the
    later of the last end marker and the DMA's last write response. Without an end marker it lasts
    to the end of the run.
    """
    begin, end, response = outcome.first_begin, outcome.last_end, outcome.last_response or 0
    if begin is None:
        return None
    begin_event = "begin_marker" if is_marked else "main"
    if end is None:
        return region_section(
            begin, outcome.cycles, begin_event=begin_event, end_event="end_of_run"
        )
    return region_section(
        begin,
        max(end, response),
        begin_event=begin_event,
        end_event="end_marker" if end >= response else "last_write_response",
    )
