"""Page of a sweep: charts and table in one HTML file that needs no network."""

from collections.abc import Sequence
from pathlib import Path

from ..sim.trace.page import filled
from .axes import Axis
from .table import Row, columns, values_of

__all__ = ["sweep_page"]


def sweep_page(
    title: str, charts: Sequence[str], axes: Sequence[Axis], rows: Sequence[Row], has_area: bool
) -> str:
    """Return the page.

    A point under the pointer shows all its values, and is marked in every chart and in the table.

    Parameters
    ----------
    title : str
        Title of the page.
    charts : sequence of str
        Charts as SVG, whose marks have the numbers of the rows.
    axes : sequence of Axis
        Axes of the sweep.
    rows : sequence of Row
        Rows of the table.
    has_area : bool
        Whether the table has columns of areas.

    """
    data = {
        "charts": list(charts),
        "columns": columns(axes, has_area),
        "rows": [[*values_of(row, has_area).values()] for row in rows],
    }
    return filled("sweep", title, data, folder=Path(__file__).parent)
