"""Comparisons from Python: one kernel on several machines with the same memory."""

from collections.abc import Mapping, Sequence

from ..base.progress import Progress
from ..explore.points.machines import machines_of
from ..explore.points.plan import planned
from ..explore.sweep.compared import comparable, compared
from ..explore.sweep.workers import require_workers
from ..explore.tables.comparison import Comparison
from ..hw.config import MachineConfig
from ..sim.harness.dram import DramConfig
from .options import python_options
from .progress import shown_progress
from .sweeps import point_request

__all__ = ["Comparison", "compare"]


@python_options(preset="machines must be of")
def compare(
    kernel: str,
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
    *,
    engine: str = "verilator",
    driver: str | None = None,
    dram: DramConfig | None = None,
    seed: int = 1,
    area: bool = True,
    energy: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool | Progress = True,
    **sizes: int,
) -> Comparison:
    """Run a kernel on several machines with the same memory; return all figures side by side.

    Finished work is stored: a repetition continues a comparison that was interrupted. A machine
    that cannot run the kernel raises `UserError` before anything is built. `Comparison.figures`
    has a row per figure with a value per machine; `markdown` and `report` return the table, and
    the content of ``spica compare --json``.

    Parameters
    ----------
    kernel : str
        Kernel of ``spica list``.
    machines : str, sequence of str or mapping of str to MachineConfig
        Presets with settings, as in ``virgo,matrix.rows=8``, or configs by name. Ratios are to the
        first.
    engine, driver, dram, seed
        As for `Machine`.
    area : bool
        Whether to measure area and depth of every machine.
    energy : bool
        Whether to compute the energy of every run from event energies, at 100 MHz.
    jobs : int or None
        Processes on this machine; None for the number of processors.
    scheduler : str or None
        Address of a Dask scheduler, whose workers replace the processes.
    progress : bool or callable
        Whether to show progress on standard error, or a callback.
    **sizes : int
        Sizes of the kernel by dimension.

    """
    request = point_request(kernel, engine, driver, dram, seed, sizes)
    plan = comparable(planned(request, configs_of(machines), has_energy=energy))
    require_workers(jobs, scheduler)
    with shown_progress(progress) as steps:
        rows = compared(plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=steps)
    return Comparison(plan.runs, rows)


def configs_of(
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
) -> Mapping[str, MachineConfig]:
    """Return the config of each machine by name."""
    if isinstance(machines, Mapping):
        return machines
    return machines_of([machines] if isinstance(machines, str) else machines)
