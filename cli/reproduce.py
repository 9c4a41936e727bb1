"""``spica reproduce``: tables of the published comparison, ours beside the published figures."""

from pathlib import Path

from ..api.progress import ProgressDisplay
from ..base.errors import UserError
from ..explore.charts.bars import stacked_charts
from ..explore.charts.files import PICTURES, picture
from ..explore.reproduce.definitions import REPRODUCTIONS
from ..explore.reproduce.page import reproduction_page
from ..explore.reproduce.reproduced import Reproduced, reports
from ..explore.reproduce.reproduced import reproduce as carried_out
from ..explore.reproduce.waterfall import Waterfall, waterfall
from ..explore.sweep.workers import require_workers
from ..sim.run.request.choices import choose
from .area.command import optional
from .compare.sheets import print_comparison
from .files import Draft, require_suffix
from .options import Flag, JsonOption, JsonOutput, Whole, new_table, standard_output
from .results import FAILED

__all__ = ["reproduce"]

#: Name of all tables.
ALL = "all"
#: File of their page without --html.
PAGE = Path("reproduction.html")


def reproduce(
    table: str,
    /,
    *,
    quick: Flag = False,
    as_published: Flag = False,
    jobs: Whole = None,
    scheduler: str | None = None,
    html: Path | None = None,
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
        table3 (MAC utilisation), table4 (bytes read from shared memory), instructions (retired),
        attention (MAC utilisation), figure7 (area), figure8 (power and energy of products), figure9
        (power by component), figure10 (within the cores), figure11 (energy of the matrix units),
        figure12 (power and energy of attention), heterogeneous (MAC utilisation of two units), or
        all of them.
    quick
        Leave out the largest products; attention of 256 queries and keys in place of 1,024.
    as_published
        Apply the known restrictions of the published machine to table3, one at a time and together,
        to products of 256 and 512, with --quick of 256; energies follow.
    jobs
        Processes on this machine; default: the number of processors.
    scheduler
        Address of the scheduler of a running Dask cluster, whose workers replace the processes.
    html
        Write tables, charts and all figures to this HTML file; for all: reproduction.html.
    markdown
        Write the table to this Markdown file, followed by all figures of the designs.
    plot
        Write charts to this SVG or PNG file.

    """
    choose("table", table, (*REPRODUCTIONS, ALL))
    require_workers(jobs, scheduler)
    if table == ALL:
        for option, is_given in (("--as-published", as_published), ("--plot", plot is not None)):
            if is_given:
                raise UserError(f"{option} does not apply to all; leave it out")
        return reproduce_all(
            quick=quick,
            jobs=jobs,
            scheduler=scheduler,
            html=html or PAGE,
            markdown=markdown,
            json=json,
        )
    if as_published and table != "table3":
        raise UserError(f"--as-published applies to table3, not to {table}; leave it out")
    if as_published and html is not None:
        raise UserError("--html does not apply to --as-published; leave it out")
    require_suffix("--plot", plot, PICTURES)
    with (
        JsonOutput(json) as result,
        optional(markdown) as page,
        optional(plot) as chart,
        optional(html) as sheet,
    ):
        with ProgressDisplay() as progress:
            workers = {"jobs": jobs, "scheduler": scheduler, "progress": progress}
            if as_published:
                quick_sizes = REPRODUCTIONS[table].quick_sizes
                measured = waterfall(sizes=quick_sizes[:1] if quick else quick_sizes, **workers)
            else:
                measured = carried_out(REPRODUCTIONS[table], quick=quick, **workers)
        if page is not None:
            page.write(measured.markdown())
        if chart is not None:
            drawn = stacked_charts(measured.title, measured.charts())
            chart.write(picture(drawn, chart.path.suffix))
        if sheet is not None and isinstance(measured, Reproduced):
            sheet.write(reproduction_page([measured]))
        for draft in filter(None, (page, chart, sheet)):
            draft.commit()
        if result.write(measured.report()):
            print_tables(measured)
    return 0 if measured.is_passed else FAILED


def reproduce_all(
    *,
    quick: bool,
    jobs: int | None,
    scheduler: str | None,
    html: Path,
    markdown: Path | None,
    json: str | None,
) -> int:
    """Measure all tables; write one page of them."""
    with (
        JsonOutput(json) as result,
        optional(markdown) as page,
        Draft(html) as sheet,
    ):
        with ProgressDisplay() as progress:
            workers = {"quick": quick, "jobs": jobs, "scheduler": scheduler, "progress": progress}
            tables = [carried_out(table, **workers) for table in REPRODUCTIONS.values()]
        sheet.write(reproduction_page(tables))
        if page is not None:
            page.write("\n".join(table.markdown() for table in tables))
        for draft in filter(None, (sheet, page)):
            draft.commit()
        if result.write(reports(tables)):
            for table in tables:
                print_tables(table)
            standard_output().print(f"Page: {html}", markup=False)
    return 0 if all(table.is_passed for table in tables) else FAILED


def print_tables(measured: Reproduced | Waterfall):
    """Print a table, or that of each size, and the notes."""
    out = standard_output()
    if isinstance(measured, Waterfall):
        first, tables = "restriction", list(measured.tables)
    else:
        first, tables = "design", [(measured.table.title, measured.heads, measured.lines())]
    for title, heads, lines in tables:
        table = new_table(title, first, numbers=heads)
        for label, cells in lines:
            table.add_row(label, *cells)
        out.print(table)
    if isinstance(measured, Reproduced) and measured.table.has_account:
        for comparison in measured.comparisons.values():
            print_comparison(comparison)
    for note in measured.notes:
        out.print(note, markup=False)
