"""Program executor of a whole cluster: cores, matrix units, DMA, and DRAM behind AXI."""

import dataclasses
from typing import Any

from ...hw.config import ClusterConfig
from ...kernels.program import Program
from ..harness.dram import DramConfig, traffic
from ..harness.error_registers import describe_faults
from ..harness.load_latency import summed
from ..machine.cluster_machine import ClusterMachine
from ..machine.cluster_outcome import ClusterOutcome
from ..machine.memory_layout import MemoryLayout
from ..machine.unit_report import read_faults
from ..trace import OVERVIEW_SUFFIXES
from .core_executor import ProgramExecutor, machine_options, trace_options
from .loading import Progress, SimtOptions
from .overview_recording import Overview

__all__ = ["ClusterExecutor"]


class ClusterExecutor(ProgramExecutor[ClusterMachine, ClusterOutcome]):
    """Executor of a program in the DRAM of a cluster; see `ProgramExecutor`."""

    @classmethod
    def build(
        cls,
        config: ClusterConfig,
        program: Program,
        memory_layout: MemoryLayout,
        options: SimtOptions,
        progress: Progress | None,
    ) -> "ClusterExecutor":
        """Build the machine that the options select."""
        assert isinstance(options.memory, DramConfig)
        machine = ClusterMachine(
            config,
            dram=options.memory,
            progress=progress,
            **machine_options(options),
            **({} if is_overview(options) else trace_options(options)),
        )
        machine.profiled = program
        return cls(machine, program, memory_layout, options)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any] | None = None
    ) -> bool:
        """Run to the end as `ProgramExecutor` does, and record the timeline of the cluster."""
        if is_overview(self.options):
            config, window = self.machine.config, self.options.trace_window
            self.overview = Overview(self.machine, config, window)
        self.title = sentence.removeprefix("running ")
        return super().execute(sentence, progress, arguments)

    def write_trace(self) -> None:
        """Write the recorded trace if the options request one."""
        path = self.options.trace
        if path is None or not is_overview(self.options):
            return super().write_trace()
        return self.overview.write(path, self.title)

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text."""
        return describe_faults(read_faults(self.machine, self.machine.config))

    def run(self, max_cycles: int) -> ClusterOutcome:
        """Continue the run for at most `max_cycles`."""
        return self.machine.run(max_cycles)

    def account(self) -> dict[str, Any]:
        """Return the results and measurements of the run, for a result file."""
        outcome = self.outcome
        assert outcome is not None, "the program has been executed"
        found, dram = super().account(), self.machine.dram
        return found | {
            "region": region(outcome, dram.bytes_per_cycle),
            "marks": [list(marks) for marks in outcome.marks],
            "profile": {
                name: dataclasses.asdict(spent) for name, spent in self.machine.profile().items()
            },
            "unit_counters": self.machine.unit_counters(),
            "load_latency": {
                place: summed(cores) for place, cores in self.machine.load_latency().items()
            },
            "cache_latency": {
                cache: summed(parts, what="reads", by="slice" if cache == "l2" else "core")
                for cache, parts in self.machine.cache_latency().items()
            },
            "flush_cycles": outcome.flush_cycles,
            "memory": dataclasses.asdict(dram)
            | traffic(outcome.channels, outcome.cycles, dram.bytes_per_cycle),
        }


def is_overview(options: SimtOptions) -> bool:
    """Return whether the trace is a timeline of the whole cluster, not an instruction log."""
    return options.trace is not None and options.trace.suffix in OVERVIEW_SUFFIXES


def region(outcome: ClusterOutcome, bytes_per_cycle: float) -> dict[str, float] | None:
    """Return the measured region that the program marks, and its DRAM utilization.

    The region begins at the first begin marker. It ends at the last end marker or at the DMA's
    last write response, if that is later. `dram_utilization` covers the traffic and the time from
    the first marker to the end of the run, so it includes the final write-back. None without
    markers.
    """
    if outcome.first_begin is None or outcome.last_end is None:
        return None
    begin, end = outcome.first_begin, max(outcome.last_end, outcome.last_response or 0)
    moved = traffic(outcome.marked_channels, outcome.cycles - begin, bytes_per_cycle)
    return {
        "begin": begin,
        "end": end,
        "cycles": end - begin,
        "dram_utilization": moved["dram_utilization"],
    }
