"""``spica sweep``: one kernel on many machines, in a table."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ...api.progress import ProgressDisplay
from ...explore.points.axes import parsed_axes
from ...explore.points.machines import presets_of
from ...explore.points.plan import planned
from ...explore.sweep.sweep import stored, work_of
from ...explore.sweep.sweep import sweep as carried_out
from ...explore.sweep.workers import require_workers
from ...explore.tables.table import csv_text, report
from ...explore.work.record import ILLEGAL, PASS
from ..area.command import optional
from ..options import Flag, JsonOption, JsonOutput, Whole, standard_output
from ..results import FAILED
from ..run_options import PointOptions
from .charts import Charts
from .sheets import plan_table, print_sweep

__all__ = ["sweep"]

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
    plan = planned(
        options.request(kernel),
        presets_of(preset, options.settings),
        parsed_axes(over),
        has_energy=energy,
        is_predicted=analytic,
    )
    plan.require_legal()
    plan.require_energy()
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
