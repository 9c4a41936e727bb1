"""Comparisons from Python: one kernel on several machines with the same memory."""

from collections.abc import Mapping, Sequence

from ..explore.points.machines import parsed_machines
from ..explore.points.plan import planned
from ..explore.sweep.compared import comparable, compared
from ..explore.tables.comparison import Comparison
from ..hw.base.errors import UserError
from ..hw.base.progress import Progress
from ..hw.config import MachineConfig
from ..hw.presets.override import override
from ..sim.harness.dram import DramConfig
from ..sim.run.options import MODEL, RunOptions
from .arrays import integer
from .options import python_options
from .progress import shown_progress
from .sweeps import preset_config, require_known_choices, runs_of

__all__ = ["Comparison", "compare"]


@python_options()
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
    require_known_choices(kernel, engine, driver, jobs)
    options = RunOptions(
        engine=engine, seed=integer("seed", seed), memory=None if engine == MODEL else dram
    )
    configs = configs_of(machines)
    run_of = runs_of(kernel, driver, sizes, options, has_energy=energy)
    plan = comparable(planned(configs, (), run_of))
    with shown_progress(progress) as tell:
        rows = compared(plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=tell)
    return Comparison(plan.runs, rows)


def configs_of(
    machines: str | Sequence[str] | Mapping[str, MachineConfig],
) -> dict[str, MachineConfig]:
    """Return the config of each machine by name."""
    if isinstance(machines, Mapping):
        return dict(machines)
    names = [machines] if isinstance(machines, str) else machines
    configs = {}
    for name, (preset, settings) in parsed_machines(names).items():
        config = preset_config(preset)
        try:
            configs[name] = override(config, settings)
        except ValueError as error:
            raise UserError(f"cannot set {', '.join(settings)}: {error}") from None
    return configs
