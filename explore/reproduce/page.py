"""Page of reproductions in one HTML file: tables, charts, notes, all figures."""

from collections.abc import Iterator, Sequence
from html import escape

from ...sim.engine.versions import versions
from ..charts.bars import bars_chart
from ..charts.comparison import comparison_table
from ..charts.files import chart_page, figure, table
from .published import SOURCE
from .reproduced import Reproduced

__all__ = ["reproduction_page"]

TITLE = "Spica: published figures and ours"


def reproduction_page(tables: Sequence[Reproduced]) -> str:
    """Return the page: a section for each table, with its command, and the versions of all tools.

    Figures of the designs are folded. The page needs no network.
    """
    links = (
        f'<a href="#{reproduced.table.name}">{escape(reproduced.table.title)}</a>'
        for reproduced in tables
    )
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    note = f"Published: {SOURCE}. Versions: {used}."
    body = [
        f"<nav>{' '.join(links)}</nav>",
        *(line for reproduced in tables for line in section(reproduced)),
    ]
    return chart_page(TITLE, note, body)


def section(reproduced: Reproduced) -> Iterator[str]:
    """Yield the lines of a table with its charts, its notes and all figures of the designs."""
    definition = reproduced.table
    yield f'<section id="{definition.name}"><h2>{escape(definition.title)}</h2>'
    yield f"<p><code>spica reproduce {definition.name}</code></p>"
    charts = (figure(bars_chart(bars, width=None)) for bars in reproduced.charts())
    yield f'<div class="charts">{"".join(charts)}</div>'
    yield table(["design", *reproduced.heads], reproduced.lines())
    yield from (f'<p class="notes">{escape(note)}</p>' for note in reproduced.notes)
    for size, comparison in reproduced.comparisons.items():
        yield f"<details><summary>all figures, {escape(definition.head(size))}</summary>"
        yield comparison_table(comparison)
        yield "</details>"
    yield "</section>"
