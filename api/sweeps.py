"""Sweeps from Python: one kernel on many machines, as a pandas frame."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.progress import Progress
from ..explore.points.axes import Axis
from ..explore.points.machines import presets_of
from ..explore.points.plan import planned
from ..explore.sweep.sweep import sweep as carried_out
from ..explore.sweep.workers import require_workers
from ..explore.tables.table import columns, ordered, values_of
from ..hw.config import MachineConfig
from ..sim.harness.dram import DramConfig
from ..sim.run.inputs.arrays import integer
from ..sim.run.request.request import Request
from .frames import required_pandas
from .options import python_options
from .progress import shown_progress

if TYPE_CHECKING:
    import pandas

__all__ = ["point_request", "sweep"]


@python_options(preset="machines must be of")
def sweep(
    kernel: str,
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    engine: str = "verilator",
    driver: str | None = None,
    dram: DramConfig | None = None,
    seed: int = 1,
    area: bool = False,
    energy: bool = False,
    analytic: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool | Progress = True,
    **sizes: int,
) -> "pandas.DataFrame":
    """Run a kernel on all combinations of machines and values of fields; return a row for each.

    Finished points are stored: a repetition continues a sweep that was interrupted. The columns
    are those of ``spica sweep --csv``. Rows that passed are first; a point that did not pass has
    its reason in the last column.

    Parameters
    ----------
    kernel : str
        Kernel of ``spica list``.
    machines : str, sequence of str or mapping of str to MachineConfig
        Names of presets, or configs by name.
    over : mapping or None
        Values of each field, by its dotted name; ``dram.latency`` and the like for DRAM.
    engine, driver, dram, seed
        As for `Machine`.
    area : bool
        Whether to measure area and depth of every machine.
    energy : bool
        Whether to compute the energy of every run from event energies, at 100 MHz.
    analytic : bool
        Whether to predict the cycles of ``gemm`` or ``attention`` with the analytic model, without
        simulation.
    jobs : int or None
        Processes on this machine; None for the number of processors.
    scheduler : str or None
        Address of a Dask scheduler, whose workers replace the processes.
    progress : bool or callable
        Whether to show progress on standard error, or a callback.
    **sizes : int
        Sizes of the kernel by dimension.

    """
    pandas = required_pandas("spica.sweep")
    axes = [Axis(field, tuple(map(text_of, values))) for field, values in (over or {}).items()]
    request = point_request(kernel, engine, driver, dram, seed, sizes)
    plan = planned(request, configs_of(machines), axes, has_energy=energy, is_predicted=analytic)
    plan.require_legal()
    plan.require_energy()
    require_workers(jobs, scheduler)
    with shown_progress(progress) as steps:
        rows = carried_out(plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=steps)
    names = columns(axes, area)
    return pandas.DataFrame([values_of(row, area) for row in ordered(rows)], columns=names)


def point_request(
    kernel: str,
    engine: str,
    driver: str | None,
    dram: DramConfig | None,
    seed: int,
    sizes: Mapping[str, int],
) -> Request:
    """Return the request that all points of a sweep share, without lockstep."""
    return Request(
        kernel=kernel,
        engine=engine,
        driver=driver,
        memory=dram,
        seed=integer("seed", seed),
        sizes=sizes,
        is_lockstep_usual=False,
    )


def configs_of(
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
) -> Mapping[str, MachineConfig]:
    """Return the configs of machines by name."""
    if isinstance(machines, Mapping):
        return machines
    return presets_of([machines] if isinstance(machines, str) else list(machines))


def text_of(value: Any) -> str:
    """Return a value of a field as on the command line."""
    if isinstance(value, tuple | list):
        return f"({','.join(map(text_of, value))})"
    return str(value)
