"""Sweeps from Python: one kernel on many machines, as a pandas frame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..explore.energy.event_model import EventOptions
from ..explore.points.axes import Axis, require_distinct, require_known
from ..explore.points.plan import planned
from ..explore.sweep.sweep import sweep as carried_out
from ..explore.tables.table import columns, ordered, values_of
from ..explore.work.analytic_run import predictions_of
from ..explore.work.kernel_run import KernelRun
from ..hw.base.errors import UserError
from ..hw.base.progress import Progress
from ..hw.config import MachineConfig
from ..hw.config.rtl_support import require_rtl
from ..hw.presets import PRESETS
from ..sim.engine.engines import ENGINES
from ..sim.harness.dram import DramConfig
from ..sim.run.drivers import DIMENSIONS, HOST_KERNEL, is_on_cores
from ..sim.run.exact_kernels import EXACT_KERNELS, kernel_names, kernel_of
from ..sim.run.loading import require_cores
from ..sim.run.options import MODEL, RunOptions, SimtOptions
from .arrays import integer
from .frames import required_pandas
from .options import python_options
from .progress import shown_progress

if TYPE_CHECKING:
    import pandas

__all__ = ["preset_config", "require_known_choices", "runs_of", "sweep"]


@python_options()
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
    configs = configs_of(machines)
    require_known_choices(kernel, engine, driver, jobs)
    axes = [Axis(field, tuple(map(text_of, values))) for field, values in (over or {}).items()]
    require_known(axes, configs.values(), engine, has_dram=kernel in EXACT_KERNELS)
    options = RunOptions(
        engine=engine, seed=integer("seed", seed), memory=None if engine == MODEL else dram
    )
    if energy and analytic:
        raise UserError("energy must be False with analytic, which predicts no counters")
    run_of = runs_of(kernel, driver, sizes, options, has_energy=energy)
    if analytic:
        run_of = predictions_of(run_of)
    plan = planned(configs, axes, run_of)
    plan.require_legal()
    plan.require_energy("energy=True")
    with shown_progress(progress) as tell:
        rows = carried_out(plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=tell)
    names = columns(axes, area)
    return pandas.DataFrame([values_of(row, area) for row in ordered(rows)], columns=names)


def runs_of(
    kernel: str,
    driver: str | None,
    sizes: Mapping[str, int],
    options: RunOptions,
    *,
    has_energy: bool = False,
) -> Callable[[str, MachineConfig], KernelRun]:
    """Return the function that finds the run of a kernel on a machine, by its name and config."""

    def run_of(name: str, config: MachineConfig) -> KernelRun:
        if kernel == HOST_KERNEL and not is_on_cores(driver, name, config):
            run = host_run(name, config, sizes, options)
        else:
            run = cores_run(kernel, name, config, sizes, options)
        return replace(run, energy=EventOptions() if has_energy else None)

    return run_of


def configs_of(
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
) -> dict[str, MachineConfig]:
    """Return the configs of machines by name."""
    if isinstance(machines, Mapping):
        return dict(machines)
    names = [machines] if isinstance(machines, str) else list(machines)
    require_distinct("presets", names)
    return {name: preset_config(name) for name in names}


def preset_config(name: str) -> MachineConfig:
    """Return the config of a preset; raise if there is none of that name."""
    if name not in PRESETS:
        raise UserError(f"machines must be of {', '.join(PRESETS)}, not {name!r}")
    return PRESETS[name]


def require_known_choices(kernel: str, engine: str, driver: str | None, jobs: int | None):
    """Raise unless kernel, engine, driver and number of processes are valid."""
    kernels = kernel_names()
    if kernel not in kernels:
        raise UserError(f"kernel must be one of {', '.join(kernels)}, not {kernel!r}")
    if engine not in (*ENGINES, MODEL):
        raise UserError(f"engine must be one of {', '.join((*ENGINES, MODEL))}, not {engine!r}")
    if driver not in (None, "cores", "host"):
        raise UserError(f"driver must be cores or host, not {driver!r}")
    if jobs is not None and jobs < 1:
        raise UserError(f"jobs must be at least 1, not {jobs}")


def host_run(
    name: str, config: MachineConfig, sizes: Mapping[str, int], options: RunOptions
) -> KernelRun:
    """Return the run of a product that a host commands."""
    if options.engine == MODEL:
        raise UserError(f"{HOST_KERNEL} driven by a host needs engine verilator or amaranth")
    require_rtl(config)
    return KernelRun(
        kernel=HOST_KERNEL,
        driver="host",
        preset=name,
        config=config,
        sizes=in_order(HOST_KERNEL, DIMENSIONS, sizes),
        product={},
        options=options,
    )


def cores_run(
    kernel: str, name: str, config: MachineConfig, sizes: Mapping[str, int], options: RunOptions
) -> KernelRun:
    """Return the run of a kernel on the cores, without lockstep."""
    require_cores(kernel, name, config)
    return KernelRun(
        kernel=kernel,
        driver="cores",
        preset=name,
        config=config,
        sizes=in_order(kernel, kernel_of(kernel, config, {}).dimensions, sizes),
        product={},
        options=SimtOptions(
            engine=options.engine, seed=options.seed, memory=options.memory, lockstep=False
        ),
    )


def in_order(kernel: str, dimensions: Sequence[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes in the order of the kernel's dimensions."""
    if set(sizes) != set(dimensions):
        given = ", ".join(sizes) or "none"
        raise UserError(f"{kernel} needs the sizes {', '.join(dimensions)}, not {given}")
    return {name: integer(f"{name} of {kernel}", sizes[name]) for name in dimensions}


def text_of(value: Any) -> str:
    """Return a value of a field as on the command line."""
    if isinstance(value, tuple | list):
        return f"({','.join(map(text_of, value))})"
    return str(value)
