"""Recording of all units of a machine during a run, and its timeline."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...hw.config import MachineConfig
from ...hw.machine.counters import counter_table
from ...kernels.program import Program
from ..machine.machine import Machine
from ..trace import write_overview
from ..trace.overview.activity_records import ALL, ClusterRecords, merged
from ..trace.overview.cluster_records import ClusterRecording
from ..trace.overview.cluster_signals import cluster_signals
from ..trace.overview.function_records import FunctionRecording
from .options import RunOptions

__all__ = ["Overview", "drawn"]

NEVER = (1 << 64) - 1


class Overview:
    """Recording of all units of a machine; create it just before the run.

    Parameters
    ----------
    machine : Machine
        Machine whose design is an observed cluster, or has some of its observation ports.
    config : MachineConfig
        Config of the cluster.
    window : tuple of int or None
        First recorded cycle and the cycle after the last; None for all.
    program : Program or None
        Program of the cores, whose functions are recorded too.

    """

    def __init__(
        self,
        machine: Machine,
        config: MachineConfig,
        window: tuple[int, int] | None = None,
        program: Program | None = None,
    ):
        layout = machine.engine.layout
        self.config = config
        self.harness = machine.harness
        self.recording = ClusterRecording(
            self.harness, layout, cluster_signals(config, layout), window=window or ALL
        )
        self.functions = None
        if program is not None and program.functions:
            self.functions = FunctionRecording(
                self.harness, config.all_cores, program, window=window or ALL
            )

    def records(self) -> ClusterRecords:
        """Return the records so far."""
        functions = self.functions.fetch() if self.functions is not None else []
        return merged(self.recording.fetch(), functions)

    def marks(self, records: ClusterRecords) -> dict[str, int]:
        """Return the named cycles of this run that are in the records."""
        state = self.harness.state()
        marks = {}
        if state.start <= state.first_command < NEVER:
            marks["first command"] = state.first_command - state.start
        computed = [
            records.intervals[counter.name]
            for counter in counter_table(self.config)
            if counter.event == "issue.active" and len(records.intervals[counter.name])
        ]
        if computed:
            marks["first compute"] = int(min(times[0, 0] for times in computed))
            marks["last compute"] = int(max(times[-1, 1] for times in computed)) - 1
        if state.start < state.last_response < NEVER:
            marks["last write response"] = state.last_response - state.start
        return {
            name: cycle for name, cycle in marks.items() if records.first <= cycle < records.end
        }

    def write(self, path: Path | str, title: str) -> None:
        """Write the timeline of the run so far, in the format of the path's suffix."""
        records = self.records()
        write_overview(path, records, self.config, title, self.marks(records))


@contextmanager
def drawn(
    machine: Machine,
    config: MachineConfig,
    options: RunOptions,
    title: str,
    program: Program | None = None,
) -> Iterator[None]:
    """Record the timeline of the cluster if the options request it; write it at every end.

    With `program`, that of the cores, it has the functions that they execute.
    """
    if options.overview is None:
        yield
        return
    overview = Overview(machine, config, options.trace_window, program)
    try:
        yield
    finally:
        overview.write(options.overview, title)
