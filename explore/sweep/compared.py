"""Course of a comparison: a sweep without axes over machines with the same memory."""

from dataclasses import replace

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config.rtl_support import require_rtl
from ...sim.harness.core_memory import CoreMemoryConfig
from ...sim.harness.dram import DramConfig
from ...sim.run.options import MODEL
from ..points.plan import Plan
from .row import Row
from .sweep import stored, sweep, work_of

__all__ = ["comparable", "compared"]


def comparable(plan: Plan) -> Plan:
    """Return a plan without axes in which all machines have the same memory.

    Without a choice it is DRAM behind the whole cluster. Raise `UserError` if a machine cannot run
    the kernel.
    """
    if not plan.points:
        raise UserError("a comparison needs at least one machine")
    points = []
    for point in plan.points:
        if point.run is None:
            raise UserError(point.reason)
        memory: CoreMemoryConfig | DramConfig | None = point.run.options.memory or DramConfig()
        if point.run.options.engine == MODEL:
            memory = None
        options = replace(point.run.options, memory=memory)
        points.append(replace(point, run=replace(point.run, options=options)))
    return Plan(axes=plan.axes, points=points)


def compared(
    plan: Plan,
    *,
    has_area: bool = True,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Carry out the runs of a plan of `comparable`; return a row for each machine.

    Before anything is built, `UserError` is raised if a machine cannot run the kernel. Finished
    work is stored at once, as in a sweep.

    Parameters
    ----------
    plan : Plan
        A point for each machine.
    has_area : bool
        Whether to measure area and depth of every machine.
    jobs, scheduler, progress
        As for `sweep.sweep`.

    """
    runs = plan.runs
    known = stored(work_of(plan, has_area))
    for number, run in enumerate(runs):
        if run.key not in known:
            if progress is not None:
                progress("checking the problem", number, len(runs))
            run.require_possible()
        if has_area:
            require_rtl(run.config, run.config.clusters)
    workers = {"jobs": jobs, "scheduler": scheduler}
    return sweep(plan, has_area=has_area, progress=progress, has_steps=True, **workers)
