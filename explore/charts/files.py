"""Files of charts: SVG and PNG pictures, and self-contained HTML pages."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ...sim.trace.page import STYLE

__all__ = ["PICTURES", "chart_page", "figure", "picture", "svg", "table"]

#: Suffixes of pictures.
PICTURES = (".svg", ".png")
#: Texts and lines of a picture for readers with a dark background.
DARK = (
    "@media (prefers-color-scheme: dark) { text { fill: #e4e7eb; } "
    ".role-axis line { stroke: #555b64; } }"
)
#: Charts of a page are as wide as their column, which includes the labels.
FITTED = {"type": "fit-x", "contains": "padding"}
CONFIG = {
    # vl-convert has this font with it, so a picture does not depend on the fonts of its writer.
    "font": "Liberation Sans, Arial, sans-serif",
    "background": "transparent",
    "view": {"stroke": None},
    "title": {"anchor": "start", "frame": "group", "fontSize": 13, "offset": 0},
    "axis": {"domain": False, "gridColor": "#8883", "tickColor": "#8886", "labelLimit": 220},
    "legend": {"orient": "top", "title": None, "labelLimit": 170, "columns": 3},
}


def spec_of(chart) -> dict[str, Any]:
    """Return a chart of Altair as a specification of Vega-Lite, in the style of all charts."""
    spec = chart.to_dict()
    return spec | {"config": CONFIG}


def picture(chart, suffix: str) -> str | bytes:
    """Return a chart as a picture of one of `PICTURES`."""
    import vl_convert

    if suffix == ".png":
        return vl_convert.vegalite_to_png(spec_of(chart) | {"background": "white"}, scale=2)
    return svg(chart)


def svg(chart) -> str:
    """Return a chart as SVG; equal charts give equal texts."""
    import vl_convert

    text = vl_convert.vegalite_to_svg(spec_of(chart))
    return text.replace(">", f"><style>{DARK}</style>", 1) + "\n"


def figure(chart) -> str:
    """Return the element of a page in which its script draws a chart, as wide as its column."""
    spec = spec_of(chart.properties(width="container", autosize=FITTED))
    spec["config"] = CONFIG | {"title": CONFIG["title"] | {"frame": "bounds"}}
    # A text must not close the element that contains the data.
    embedded = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    return f'<div class="chart"><script type="application/json">{embedded}</script></div>'


def table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table; a row without cells is the head of a section.

    A row that stands for marks of the charts has their number.
    """
    lines = [f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>"]
    for number, (label, cells) in enumerate(rows):
        if cells:
            texts = "".join(f"<td>{escape(text)}</td>" for text in (label, *cells))
            lines.append(f'<tr data-row="{number}">{texts}</tr>')
        else:
            lines.append(f'<tr class="head"><th colspan="{len(heads)}">{escape(label)}</th></tr>')
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


@cache
def script() -> str:
    """Return the script of the page, with all of Vega."""
    import vl_convert

    return vl_convert.javascript_bundle(Path(__file__).with_name("page.js").read_text())


def chart_page(title: str, note: str, body: Iterable[str]) -> str:
    """Return a page that needs no network.

    Parameters
    ----------
    title : str
        Title of the page.
    note : str
        Sentence below the title.
    body : iterable of str
        Elements, among them those of `figure` and `table`.

    """
    page = Path(__file__).with_name("page.html").read_text()
    page = page.replace("@TITLE@", escape(title)).replace("@STYLE@", STYLE)
    page = page.replace("@NOTE@", escape(note)).replace("@SCRIPT@", script())
    return page.replace("@BODY@", "\n".join(body))
