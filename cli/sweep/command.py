"""``spica sweep``: one kernel on many machines, in a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ...api.progress import ProgressDisplay
from ...explore.energy.event_model import EventOptions
from ...explore.points.axes import parsed_axes, require_distinct, require_known
from ...explore.points.plan import Plan, planned
from ...explore.sweep.sweep import stored, work_of
from ...explore.sweep.sweep import sweep as carried_out
from ...explore.tables.table import csv_text, report
from ...explore.work.analytic_run import predictions_of
from ...explore.work.kernel_run import KernelRun
from ...explore.work.record import ILLEGAL, PASS
from ...hw.base.errors import UserError
from ...hw.config import MachineConfig
from ...sim.run.exact_kernels import EXACT_KERNELS
from ..area.command import optional
from ..catalog import ENGINES, kernel_names
from ..options import Flag, JsonOption, JsonOutput, Whole, choose, configured, standard_output
from ..results import FAILED
from ..run import chosen
from ..run_options import DRIVERS, Options, PointOptions
from ..sizes import require_at_least
from .charts import Charts
from .sheets import plan_table, print_sweep

__all__ = ["plan_of", "require_workers", "sweep"]

Repeated = Parameter(negative=(), show_default=False)
DEFAULTS = PointOptions()


def sweep(
    kernel: str,
    /,
    *,
    preset: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=True)],
    over: Annotated[tuple[str, ...], Repeated] = (),
    area: Flag = False,
    energy: Flag = False,
    analytic: Flag = False,
    jobs: Whole = None,
    scheduler: str | None = None,
    dry_run: Flag = False,
    csv: Path | None = None,
    plot: str | None = None,
    pareto: str | None = None,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    options: Annotated[PointOptions, Parameter(name="*")] = DEFAULTS,
    json: JsonOption = None,
) -> int:
    """Run a kernel on all combinations of presets and values of fields; report one table.

    Every finished point is stored at once, so the same command continues a sweep that was ended.
    Exit code 0 if every point passes or is an illegal combination; otherwise 1.

    Parameters
    ----------
    kernel
        Kernel of `spica list`.
    preset
        Presets of `spica list`.
    over
        Field with its values, as in `--over core.warps=4,8,16`; may be repeated. Fields are those
        of --set, those of DRAM as in `dram.bytes_per_cycle=16,64` or `dram.latency=50,200`, and
        those of the simple memory as in `memory.latency=1,100`.
    area
        Measure area and depth of every machine.
    energy
        Compute the energy of every run from its counters and event energies.
    analytic
        Predict the cycles of `gemm` or `attention` with the analytic model; nothing is simulated,
        values are not checked.
    jobs
        Processes on this machine; default: the number of processors.
    scheduler
        Address of the scheduler of a running Dask cluster, whose workers replace the processes.
    dry_run
        List the points and whether they are stored, and run nothing.
    csv
        Write the table to this CSV file.
    plot
        Chart of two columns, as in `--plot core.warps,cycles`: metrics, or fields with numbers.
    pareto
        Chart of two metrics and of the points that no other point dominates, as in
        `--pareto nand2,cycles`.
    output
        Folder of the charts: plot.svg, pareto.svg, and sweep.html with both and the table.

    """
    choose("kernel", kernel, kernel_names())
    require_distinct("presets", preset)
    configs = {name: configured(name, options.settings) for name in preset}
    if energy and analytic:
        raise UserError("--energy does not apply to --analytic, which predicts no counters")
    plan = plan_of(kernel, configs, over, options, is_predicted=analytic, has_energy=energy)
    plan.require_legal()
    plan.require_energy("--energy")
    require_workers(jobs, scheduler)
    if dry_run:
        standard_output().print(plan_table(plan, set(stored(work_of(plan, area)))))
        return 0
    title = f"spica sweep {kernel}{', predicted' if analytic else ''}"
    charts = Charts(title, plan.axes, area, has_energy=energy, plot=plot, pareto=pareto)
    with (
        JsonOutput(json) as result,
        optional(csv) as page,
        charts.opened(output) as drafts,
    ):
        with ProgressDisplay() as progress:
            rows = carried_out(
                plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=progress
            )
        if page is not None:
            page.write(csv_text(plan.axes, rows, area))
            page.commit()
        charts.write(drafts, rows)
        if result.write(report(kernel, plan.sizes, plan.axes, rows, area)):
            print_sweep(title, plan.axes, rows)
    return 0 if all(row.record.status in (PASS, ILLEGAL) for row in rows) else FAILED


def require_workers(jobs: int | None, scheduler: str | None):
    """Raise unless the number of processes is valid, and absent with a scheduler."""
    require_at_least(1, {"--jobs": jobs})
    if jobs is not None and scheduler is not None:
        raise UserError("--jobs does not apply to --scheduler, whose workers are running already")


def plan_of(
    kernel: str,
    configs: Mapping[str, MachineConfig],
    over: Sequence[str],
    options: PointOptions,
    *,
    is_predicted: bool = False,
    has_energy: bool = False,
) -> Plan:
    """Return the plan of the runs of a kernel on configs, by name, with values of fields."""
    choose("--engine", options.engine, ENGINES)
    if options.driver is not None:
        choose("--driver", options.driver, DRIVERS)
    require_at_least(0, {"--seed": options.seed})
    axes = parsed_axes(over)
    has_dram = kernel in EXACT_KERNELS
    require_known(axes, configs.values(), options.engine, has_dram=has_dram)

    def run_of(preset: str, config: MachineConfig) -> KernelRun:
        own = Options(preset=preset, **vars(options))
        workload, settings = chosen(kernel, (), config, own)
        return KernelRun(
            kernel=kernel,
            driver=workload.driver,
            preset=preset,
            config=config,
            sizes=workload.subject["sizes"],
            product=options.product,
            options=settings,
            energy=EventOptions() if has_energy else None,
        )

    return planned(configs, axes, predictions_of(run_of) if is_predicted else run_of)
