"""Charts of ``spica sweep``: files of ``--plot`` and ``--pareto``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ...base.errors import UserError
from ...explore.charts.files import svg
from ...explore.charts.sweep import pareto_chart, plot_chart, sweep_page
from ...explore.points.axes import Axis
from ...explore.sweep.row import Row
from ...explore.tables.quantity import parsed_quantities
from ...explore.tables.table import ordered
from ..files import Draft

__all__ = ["Charts"]

PAGE = "sweep.html"


class Charts:
    """Charts of a sweep; the options are checked at once.

    Parameters
    ----------
    title : str
        Title of the charts.
    axes : sequence of Axis
        Axes of the sweep.
    has_area : bool
        Whether the sweep measures areas.
    has_energy : bool
        Whether the sweep computes energies.
    plot, pareto : str or None
        Axes X,Y of the charts; None for no such chart.

    """

    def __init__(
        self,
        title: str,
        axes: Sequence[Axis],
        has_area: bool,
        *,
        has_energy: bool = False,
        plot: str | None,
        pareto: str | None,
    ):
        self.title, self.axes, self.has_area = title, axes, has_area
        self.drawings = {}
        if plot is not None:
            self.drawings["plot.svg"] = (
                plot_chart,
                parsed_quantities("--plot", plot, axes, has_area, has_energy=has_energy),
            )
        if pareto is not None:
            self.drawings["pareto.svg"] = (
                pareto_chart,
                parsed_quantities(
                    *("--pareto", pareto, axes, has_area),
                    has_energy=has_energy,
                    has_direction=True,
                ),
            )

    @contextmanager
    def opened(self, folder: Path | None) -> Iterator[dict[str, Draft]]:
        """Provide drafts of the files; raise if there is a folder without charts, or none."""
        if bool(self.drawings) != (folder is not None):
            raise UserError(
                "--plot and --pareto need --output, the folder of their files"
                if self.drawings
                else "--output needs --plot or --pareto, whose files it holds"
            )
        with ExitStack() as stack:
            names = [*self.drawings, PAGE] if folder is not None else []
            yield {name: stack.enter_context(Draft(folder / name)) for name in names}

    def write(self, drafts: Mapping[str, Draft], rows: Sequence[Row]):
        """Write all files completely before the first is renamed to its place."""
        rows = ordered(rows)
        charts = {
            name: draw(self.title, x, y, rows) for name, (draw, (x, y)) in self.drawings.items()
        }
        for name, draft in drafts.items():
            draft.write(
                svg(charts[name])
                if name in charts
                else sweep_page(self.title, [*charts.values()], self.axes, rows, self.has_area)
            )
        for draft in drafts.values():
            draft.commit()
