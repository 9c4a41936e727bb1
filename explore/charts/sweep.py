"""Charts of the points of a sweep: one colour per preset, lines along a field or the front."""

from collections.abc import Sequence
from typing import Any

from ...sim.trace.palette import PALETTE
from ..points.axes import Axis
from ..sweep.row import Row
from ..tables.pareto import front
from ..tables.quantity import Quantity
from ..tables.table import columns, values_of
from ..work.metrics import METRICS
from .files import chart_page, figure, table

__all__ = ["pareto_chart", "plot_chart", "sweep_page"]

WIDTH, HEIGHT = 600, 380


def plot_chart(title: str, x: Quantity, y: Quantity, rows: Sequence[Row]):
    """Return the chart of all rows with both figures; a line joins the values of a field.

    Parameters
    ----------
    title : str
        Title of the chart.
    x, y : Quantity
        Axes.
    rows : sequence of Row
        Rows of the table; marks refer to them by their number.

    """
    points = points_of(x, y, rows)
    for point in points:
        settings = rows[point["row"]].settings
        others = [f"{name}={value}" for name, value in settings.items() if name != x.name]
        point["line"] = " ".join([point["preset"], *others])
    return drawn(title, x, y, points, "line" if x.is_field else None)


def pareto_chart(title: str, x: Quantity, y: Quantity, rows: Sequence[Row]):
    """Return the chart of all rows with both figures, and the front of the best; see `plot_chart`.

    A dominated point is pale.
    """
    points = points_of(x, y, rows)
    best = front([(point["x"], point["y"]) for point in points], (x.better, y.better))
    for number, point in enumerate(points):
        point["front"] = "front" if number in best else None
    return drawn(title, x, y, points, "front")


def points_of(x: Quantity, y: Quantity, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the marks of the rows that passed and have both figures, with all figures."""
    return [
        dict(row.figures)
        | {"row": number, "preset": row.preset, "x": x.value(row), "y": y.value(row)}
        | {"point": text_of(row)}
        for number, row in enumerate(rows)
        if row.is_passed and x.value(row) is not None and y.value(row) is not None
    ]


def text_of(row: Row) -> str:
    """Return the preset and the fields of a row."""
    return ", ".join([row.preset, *(f"{name} = {value}" for name, value in row.settings.items())])


def drawn(title: str, x: Quantity, y: Quantity, points: list[dict[str, Any]], line: str | None):
    """Return the chart of points; points with an equal value of `line` are joined."""
    import altair as alt

    if not points:
        empty = alt.Chart(alt.Data(values=[{}])).mark_text(text="no point has both figures")
        return empty.properties(title=title, width=WIDTH)
    presets = list(dict.fromkeys(point["preset"] for point in points))
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(presets))]
    scale = alt.Scale(zero=False, nice=False, padding=16)
    row = alt.param(name="row", value=-1)
    values = sorted({point["x"] for point in points})
    across = alt.Axis(values=values, format="~g") if x.is_field else alt.Axis()
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("x:Q", title=x.label, scale=scale, axis=across),
        y=alt.Y("y:Q", title=y.label, scale=scale),
        color=alt.Color("preset:N", scale=alt.Scale(domain=presets, range=colours)),
    )
    marks = base.mark_circle(opacity=1.0).encode(
        size=alt.condition("datum.row == row", alt.value(240), alt.value(80)),
        tooltip=[
            alt.Tooltip(f"{name}:N")
            for name in ("point", *METRICS)
            if any(point.get(name) is not None for point in points)
        ],
    )
    layers = [marks.add_params(row)]
    if line == "front":
        pale = alt.condition("datum.front", alt.value(1.0), alt.value(0.35))
        layers = [marks.encode(opacity=pale).add_params(row)]
    if line is not None:
        joined = base.mark_line().encode(detail=f"{line}:N").transform_filter(f"datum.{line}")
        if line == "front":
            joined = joined.encode(color=alt.value("#888888"))
        layers.insert(0, joined)
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)


def sweep_page(
    title: str, charts: Sequence, axes: Sequence[Axis], rows: Sequence[Row], has_area: bool
) -> str:
    """Return the page.

    The row of the table of a mark under the pointer is marked, as are the marks of a row.

    Parameters
    ----------
    title : str
        Title of the page.
    charts : sequence of altair.Chart
        Charts, whose marks have the numbers of the rows.
    axes : sequence of Axis
        Axes of the sweep.
    rows : sequence of Row
        Rows of the table.
    has_area : bool
        Whether the table has columns of areas.

    """
    cells = [[shown(value) for value in values_of(row, has_area).values()] for row in rows]
    used = [k for k, _ in enumerate(columns(axes, has_area)) if any(line[k] for line in cells)]
    heads = [columns(axes, has_area)[k] for k in used]
    return chart_page(
        f"Spica: {title}",
        "point at a mark or at a row: the point in all charts and in the table",
        [
            f'<div class="charts">{"".join(map(figure, charts))}</div>',
            table(heads, ((line[0], [line[k] for k in used[1:]]) for line in cells)),
        ],
    )


def shown(value: float | str | None) -> str:
    """Return a value as text; nothing for a missing one."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
