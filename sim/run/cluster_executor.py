"""Programs on a whole cluster: cores, matrix units, DMA, and DRAM behind AXI."""

import dataclasses
from typing import Any

from ...hw.config import ClusterConfig
from ...kernels.program import Program
from ..harness.dram import DramConfig, traffic
from ..harness.error_registers import describe_faults
from ..harness.load_latency import summed
from ..machine.cluster_machine import ClusterMachine
from ..machine.cluster_outcome import ClusterOutcome
from ..machine.memory_layout import Places
from ..machine.unit_report import read_faults
from ..trace import OVERVIEW_SUFFIXES
from .core_executor import ProgramExecutor, machine_options, trace_options
from .loading import Progress, SimtOptions
from .overview_recording import Overview

__all__ = ["ClusterExecutor"]


class ClusterExecutor(ProgramExecutor[ClusterMachine, ClusterOutcome]):
    """A program in the DRAM of a cluster; see `ProgramExecutor`."""

    @classmethod
    def build(
        cls,
        config: ClusterConfig,
        program: Program,
        places: Places,
        options: SimtOptions,
        progress: Progress | None,
    ) -> "ClusterExecutor":
        """Build the machine that the options want."""
        assert isinstance(options.memory, DramConfig)
        machine = ClusterMachine(
            config,
            dram=options.memory,
            progress=progress,
            **machine_options(options),
            **({} if is_overview(options) else trace_options(options)),
        )
        machine.profiled = program
        return cls(machine, program, places, options)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any] | None = None
    ) -> bool:
        """Run to the end as `ProgramExecutor` does, and record what a timeline of all shows."""
        if is_overview(self.options):
            config, window = self.machine.config, self.options.trace_window
            self.overview = Overview(self.machine, config, window)
        self.title = sentence.removeprefix("running ")
        return super().execute(sentence, progress, arguments)

    def write_trace(self) -> None:
        """Write what was recorded, if a trace is wanted."""
        path = self.options.trace
        if path is None or not is_overview(self.options):
            return super().write_trace()
        return self.overview.write(path, self.title)

    @property
    def device_errors(self) -> str:
        """What the units hold against the program, in words."""
        return describe_faults(read_faults(self.machine, self.machine.config))

    def run(self, max_cycles: int) -> ClusterOutcome:
        """Run on for so many cycles at most."""
        return self.machine.run(max_cycles)

    def account(self) -> dict[str, Any]:
        """Return what the run did, for a result file."""
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
    """Return whether a timeline of the whole cluster is wanted, not a log of its instructions."""
    return options.trace is not None and options.trace.suffix in OVERVIEW_SUFFIXES


def region(outcome: ClusterOutcome, bytes_per_cycle: float) -> dict[str, float] | None:
    """Return the cycles that the program marked, and what DRAM moved for them.

    From the first begin marker to the later of the last end marker and the DMA's last write
    response. `dram_utilization` is of all that moved from the first marker to the end of the run,
    when everything is in DRAM, and of that time. None where nothing is marked.
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
