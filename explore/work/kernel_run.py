"""Run of a kernel on one machine, as work of a sweep."""

import functools
from dataclasses import dataclass, replace
from typing import ClassVar

from ...base.build_cache import digest
from ...base.errors import MachineError
from ...base.progress import Progress
from ...hw.config.rtl_support import require_rtl
from ...hw.emit.shared_block import describe
from ...sim.run.options import MODEL, SimtOptions, with_memory
from ...sim.run.program_workload import KernelWorkload
from ...sim.run.request.energy import RunEnergy
from ...sim.run.request.run import Run
from ...sim.run.workload import run_workload
from ..energy.event_model import EventOptions, require_event_run, run_with_events
from .failure import failure_of, one_line
from .metrics import RUN_METRICS, figures_of
from .record import PASS, STOPPED, Record
from .source import source_key

__all__ = ["KernelRun", "kernel_run"]


@dataclass(frozen=True, kw_only=True)
class KernelRun(Run):
    """Run of a kernel on one machine, with a record; its energy, if any, is from events."""

    kind: ClassVar[str] = "sweep-run"
    is_immediate: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """Hash of the content: everything that determines the record."""
        return digest([describe(self), source_key()])

    def require_possible(self):
        """Raise `UserError` if the machine cannot run the kernel; nothing is built."""
        workload, options = self.workload, self.options
        if options.engine != MODEL:
            require_rtl(self.config, self.config.clusters)
            options = with_memory(self.config, options)
        if self.energy is not None:
            require_event_run(self.config, options)
        workload.pose(self.preset, self.config, options)
        if isinstance(workload, KernelWorkload):
            assert isinstance(options, SimtOptions)
            workload.place(self.config, options)

    def record(self, progress: Progress | None = None) -> Record:
        """Run the kernel; return verdict, figures, counters and result."""
        execute = run_workload
        if self.energy is not None:
            execute = functools.partial(run_with_events, energy=EventOptions(**self.energy.costs))
        try:
            result = execute(
                self.workload, self.preset, self.config, self.options, progress=progress
            )
        except MachineError as error:
            return Record(status=STOPPED, reason=one_line(error), result=error.result)
        check = result["check"]
        return Record(
            status=check["verdict"],
            reason="" if check["verdict"] == PASS else failure_of(check),
            figures=figures_of(RUN_METRICS, result),
            counters=result["counters"] or {},
            result=result,
        )


def kernel_run(run: Run, energy: RunEnergy | None = None) -> KernelRun:
    """Return a run as work of a sweep, with its energy from events."""
    return KernelRun(**vars(replace(run, energy=energy)))
