"""Chart of horizontal bars: rows with labels, a bar for each side in its colour."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...sim.trace.palette import PALETTE

__all__ = ["Bar", "Bars", "bars_chart", "stacked_charts"]

#: Pixels: width of the bars, and thickness of one.
WIDTH, THICK = 360, 11
#: Pixels right of the longest bar: of each character of the longest figure, and between them.
CHARACTER, GAP = 5.5, 8


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Bar of a chart.

    Parameters
    ----------
    label : str
        Label of its row.
    side : str
        Side, which selects the colour.
    value : float or None
        Length; None for a figure that is not there.
    text : str
        The value as text.

    """

    label: str
    side: str
    value: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Content of a chart.

    Parameters
    ----------
    title : str
        Text at the top.
    sides : sequence of str
        Names with a colour each, in their order within a row.
    bars : sequence of Bar
        Bars, row by row.
    notes : sequence of str
        Lines below the title.
    least : float
        Value that the longest bar has at least.

    """

    title: str
    sides: Sequence[str]
    bars: Sequence[Bar]
    notes: Sequence[str] = ()
    least: float = 0.0


def bars_chart(content: Bars, *, width: int | None = WIDTH):
    """Return the chart; colours are explained unless the labels are the sides.

    Its width is in pixels; None is that of a column of a page, known when it is drawn.
    """
    import altair as alt

    most = max(content.least, *(bar.value or 0.0 for bar in content.bars)) or 1.0
    is_labelled = all(bar.label == bar.side for bar in content.bars)
    colours = [PALETTE[number % len(PALETTE)] for number in range(len(content.sides))]
    room = GAP + CHARACTER * max(len(bar.text) for bar in content.bars)
    end = alt.expr(f"width - {room}") if width is None else width - room
    scale = alt.Scale(domain=[0, most], range=[0, end], nice=False)
    values = list(placed(content.bars))
    labels = list(dict.fromkeys(bar.label for bar in content.bars))
    places = 1 if is_labelled else 1 + max(value["place"] for value in values)
    rows = alt.Scale(domain=labels, paddingInner=0.1 if is_labelled else 0.25, paddingOuter=0.1)
    chart = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("value:Q", axis=None, scale=scale),
        y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(ticks=False), scale=rows),
        tooltip=[
            alt.Tooltip(f"{name}:N", title=title)
            for name, title in (("label", "row"), ("side", "bar"), ("text", "figure"))
            if not (is_labelled and name == "side")
        ],
    )
    if not is_labelled:
        offset = alt.Scale(domain=list(range(places)))
        chart = chart.encode(yOffset=alt.YOffset("place:O", scale=offset))
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=list(content.sides), range=colours),
        legend=None if is_labelled else alt.Legend(),
    )
    lengths = chart.mark_bar().encode(color=colour)
    figures = chart.mark_text(align="left", dx=4, fontSize=9).encode(text="text:N")
    title = alt.Title(content.title, subtitle=list(content.notes))
    height = round(THICK * places * len(labels) * (1.1 if is_labelled else 1.3))
    layers = (lengths + figures).properties(height=height, title=title)
    return layers if width is None else layers.properties(width=width)


def placed(bars: Iterable[Bar]) -> Iterator[dict[str, Any]]:
    """Yield the bars with their places within their rows."""
    counts: Counter[str] = Counter()
    for bar in bars:
        yield vars(bar) | {"value": bar.value or 0.0, "place": counts[bar.label]}
        counts[bar.label] += 1


def stacked_charts(title: str, contents: Iterable[Bars]):
    """Return charts one below the other, each with bars of its own scale."""
    import altair as alt

    return alt.vconcat(*(bars_chart(content) for content in contents), title=title)
