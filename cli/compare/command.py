"""``spica compare``: one kernel on several machines, side by side."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ...api.progress import ProgressDisplay
from ...explore.charts.comparison import comparison_chart, comparison_page
from ...explore.charts.files import PICTURES, picture
from ...explore.points.machines import machines_of
from ...explore.points.plan import planned
from ...explore.sweep.compared import comparable, compared
from ...explore.sweep.workers import require_workers
from ...explore.tables.comparison import Comparison
from ..area.command import optional
from ..files import require_suffix
from ..options import Flag, JsonOption, JsonOutput, Whole
from ..results import FAILED
from ..run_options import PointOptions
from .sheets import print_comparison

__all__ = ["compare"]

DEFAULTS = PointOptions()
PAGE = ".html"


def compare(
    kernel: str,
    /,
    *,
    preset: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=True)],
    area: bool = True,
    energy: Flag = False,
    jobs: Whole = None,
    scheduler: str | None = None,
    markdown: Path | None = None,
    plot: Path | None = None,
    options: Annotated[PointOptions, Parameter(name="*")] = DEFAULTS,
    json: JsonOption = None,
) -> int:
    """Run a kernel on several machines with the same memory; report their figures side by side.

    Ratios are to the first machine. Finished work is stored at once, so the same command continues
    a comparison that was ended. Exit code 0 if every machine passes; otherwise 1. A machine that
    cannot run the kernel is refused before anything is built.

    Parameters
    ----------
    kernel
        Kernel of `spica list`.
    preset
        Presets of `spica list`, each with settings of its own if wanted, as in
        `--preset virgo virgo,matrix.rows=8`.
    area
        Measure area and depth of every machine; on by default.
    energy
        Compute the energy of every run from its counters and event energies.
    jobs
        Processes on this machine; default: the number of processors.
    scheduler
        Address of the scheduler of a running Dask cluster, whose workers replace the processes.
    markdown
        Write the table to this Markdown file.
    plot
        Write charts to this SVG or PNG file, or a page with charts and table to this HTML file.

    """
    machines = machines_of(preset, options.settings)
    plan = comparable(planned(options.request(kernel), machines, has_energy=energy))
    require_workers(jobs, scheduler)
    require_suffix("--plot", plot, (*PICTURES, PAGE))
    with (
        JsonOutput(json) as result,
        optional(markdown) as page,
        optional(plot) as chart,
    ):
        with ProgressDisplay() as progress:
            rows = compared(plan, has_area=area, jobs=jobs, scheduler=scheduler, progress=progress)
        comparison = Comparison(plan.runs, rows)
        if page is not None:
            page.write(comparison.markdown())
        if chart is not None and chart.path.suffix == PAGE:
            chart.write(comparison_page(comparison))
        elif chart is not None:
            chart.write(picture(comparison_chart(comparison), chart.path.suffix))
        for draft in filter(None, (page, chart)):
            draft.commit()
        if result.write(comparison.report()):
            print_comparison(comparison)
    return 0 if comparison.is_passed else FAILED
