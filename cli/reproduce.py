"""``spica reproduce``: tables of the published comparison, ours beside the published figures."""

from pathlib import Path

from ..api.progress import ProgressDisplay
from ..explore.reproduce.definitions import REPRODUCTIONS
from ..explore.reproduce.picture import picture
from ..explore.reproduce.published import SIZES
from ..explore.reproduce.reproduced import QUICK_SIZES, Reproduced
from ..explore.reproduce.reproduced import reproduce as carried_out
from ..hw.base.errors import UserError
from .area import optional
from .options import Flag, JsonOption, JsonOutput, choose, new_table, standard_output
from .results import FAILED
from .sweep.command import require_workers

__all__ = ["reproduce"]


def reproduce(
    table: str,
    /,
    *,
    quick: Flag = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    markdown: Path | None = None,
    plot: Path | None = None,
    json: JsonOption = None,
) -> int:
    """Measure a table of the published comparison again; report ours beside the published figures.

    Every finished run is stored at once, so the same command continues a table that was ended, and
    tables share their runs. Exit code 0 if every run passes; otherwise 1.

    Parameters
    ----------
    table
        table3 (MAC utilisation), table4 (bytes read from shared memory) or instructions (retired).
    quick
        Leave out the largest products.
    jobs
        Processes on this machine; default: the number of processors.
    scheduler
        Address of the scheduler of a running Dask cluster, whose workers replace the processes.
    markdown
        Write the table to this Markdown file, followed by all figures of the designs.
    plot
        Write a chart to this SVG file.

    """
    choose("table", table, REPRODUCTIONS)
    require_workers(jobs, scheduler)
    if plot is not None and plot.suffix != ".svg":
        raise UserError(f"--plot must be a file with suffix .svg, not {plot}")
    with (
        JsonOutput(json) as result,
        optional(markdown) as page,
        optional(plot) as chart,
    ):
        with ProgressDisplay() as progress:
            found = carried_out(
                REPRODUCTIONS[table],
                sizes=QUICK_SIZES if quick else SIZES,
                jobs=jobs,
                scheduler=scheduler,
                progress=progress,
            )
        if page is not None:
            page.write(found.markdown())
        if chart is not None:
            chart.write(picture(found))
        for draft in filter(None, (page, chart)):
            draft.commit()
        if result.write(found.report()):
            print_table(found)
    return 0 if found.is_passed else FAILED


def print_table(found: Reproduced):
    """Print the table and its notes."""
    out = standard_output()
    table = new_table(found.table.title, "design", numbers=found.heads)
    for label, cells in found.lines():
        table.add_row(label, *cells)
    out.print(table)
    for note in found.notes:
        out.print(note, markup=False)
