"""Page of reproductions in one HTML file without a script: tables, charts, notes, all figures."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from ...sim.engine.versions import versions
from ...sim.trace.page import STYLE
from ..comparison import Comparison, with_ratios
from .bars import drawn
from .published import SOURCE
from .reproduced import Reproduced

__all__ = ["reproduction_page"]

TEMPLATE = Path(__file__).with_suffix(".html")
TITLE = "Spica: published figures and ours"


def reproduction_page(tables: Sequence[Reproduced]) -> str:
    """Return the page: a section for each table, with its command, and the versions of all tools.

    Figures of the designs are folded. The page needs no network.
    """
    links = (f'<a href="#{each.table.name}">{escape(each.table.title)}</a>' for each in tables)
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    body = [
        f'<p class="notes">Published: {escape(SOURCE)}. Versions: {escape(used)}.</p>',
        f"<nav>{' '.join(links)}</nav>",
        *(line for each in tables for line in section(each)),
    ]
    page = TEMPLATE.read_text().replace("@TITLE@", escape(TITLE)).replace("@STYLE@", STYLE)
    return page.replace("@BODY@", "\n".join(body))


def section(found: Reproduced) -> Iterator[str]:
    """Yield the lines of a table with its chart, its notes and all figures of the designs."""
    table = found.table
    yield f'<section id="{table.name}"><h2>{escape(table.title)}</h2>'
    yield f"<p><code>spica reproduce {table.name}</code></p>"
    yield drawn(found.bars())
    yield from table_lines(["design", *found.heads], found.lines())
    yield from (f'<p class="notes">{escape(note)}</p>' for note in found.notes)
    for size, comparison in found.comparisons.items():
        yield f"<details><summary>all figures, {escape(table.head(size))}</summary>"
        yield from table_lines(
            ["figure", *with_ratios(comparison.names, [])], figures_of(comparison)
        )
        yield "</details>"
    yield "</section>"


def figures_of(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yield label and cells of all figures of a comparison; the head of a section has no cells."""
    for head, label, cells in comparison.table():
        yield (head, []) if label is None else (label, cells)


def table_lines(heads: Sequence[str], rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield a table; a row without cells is the head of a section."""
    yield '<div class="scroll"><table>'
    yield f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>"
    for label, cells in rows:
        if cells:
            texts = "".join(f"<td>{escape(text)}</td>" for text in (label, *cells))
            yield f"<tr>{texts}</tr>"
        else:
            yield f'<tr class="head"><th colspan="{len(heads)}">{escape(label)}</th></tr>'
    yield "</table></div>"
