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
from ..report.result import memory_section, region_section, traffic_section
from .core_executor import RtlExecutor, machine_options, trace_options
from .loading import Progress
from .options import SimtOptions
from .overview_recording import drawn

__all__ = ["ClusterExecutor"]


class ClusterExecutor(RtlExecutor[ClusterMachine, ClusterOutcome]):
    """Executor of a program in the DRAM of a cluster; see `RtlExecutor`."""

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
            **({} if options.overview else trace_options(options)),
        )
        machine.profiled = program
        return cls(machine, program, memory_layout, options)

    def execute(
        self, sentence: str, progress: Progress | None, arguments: dict[str, Any], /
    ) -> bool:
        """Run to the end as `RtlExecutor` does, and record the timeline of the cluster."""
        title = sentence.removeprefix("running ")
        with drawn(self.machine, self.machine.config, self.options, title):
            return super().execute(sentence, progress, arguments)

    def write_trace(self) -> None:
        """Write the recorded trace of the cores if the options request one."""
        if self.options.overview is None:
            super().write_trace()

    @property
    def device_errors(self) -> str:
        """Errors that the units report about the program, as text."""
        return describe_faults(read_faults(self.machine, self.machine.config))

    def run(self, max_cycles: int) -> ClusterOutcome:
        """Continue the run for at most `max_cycles`."""
        return self.machine.run(max_cycles)

    def account(self) -> dict[str, Any]:
        """Return the sections of the result that the run has measured."""
        outcome = self.outcome
        assert outcome is not None, "the program has been executed"
        found, dram = super().account(), self.machine.dram
        for core, (begin, end) in zip(found["cores"], outcome.marks, strict=True):
            core["region"] = region_section(begin, end)
        region, traffic_of_region = marked_region(outcome, dram.bytes_per_cycle)
        whole = traffic(outcome.channels, outcome.cycles, dram.bytes_per_cycle)
        return found | {
            "cycles": found["cycles"] if region is None else region["end"] - region["begin"],
            "flush_cycles": outcome.flush_cycles,
            "region": region,
            "profile": {
                name: dataclasses.asdict(spent) for name, spent in self.machine.profile().items()
            },
            "counters": self.machine.unit_counters(),
            "load_latency": {
                place: summed(cores) for place, cores in self.machine.load_latency().items()
            },
            "cache_latency": {
                cache: summed(parts, by="slice" if cache == "l2" else "core")
                for cache, parts in self.machine.cache_latency().items()
            },
            "memory": memory_section(dram, traffic_section(whole, traffic_of_region)),
        }


def marked_region(
    outcome: ClusterOutcome, bytes_per_cycle: float
) -> tuple[dict[str, Any] | None, dict[str, float] | None]:
    """Return the region that the program marked, and the traffic of DRAM it caused.

    The region lasts from the first begin marker to the later of the last end marker and the DMA's
    last write response. Its traffic is all traffic from the first marker to the end of the run,
    when DRAM holds everything, over that time. Both are None without markers.
    """
    if outcome.first_begin is None or outcome.last_end is None:
        return None, None
    begin, end, response = outcome.first_begin, outcome.last_end, outcome.last_response or 0
    region = region_section(
        begin,
        max(end, response),
        begin_event="begin_marker",
        end_event="end_marker" if end >= response else "last_write_response",
    )
    return region, traffic(outcome.marked_channels, outcome.cycles - begin, bytes_per_cycle)
