"""SVG chart of groups of bars, a few side by side in each row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...synth.area_picture import STYLE, colour_of

__all__ = ["Bars", "Group", "drawn"]

#: Pixels: width of a letter, length of the longest bar, room for its figure; heights.
LETTER, BAR, FIGURE, TOP, HEAD, THICK, GAP = 7.3, 460, 80, 56, 22, 12, 10


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows of bars under a head.

    Parameters
    ----------
    head : str
        Text above them.
    rows : sequence of pair
        Label, and value of each side; a side without one has no bar.

    """

    head: str
    rows: Sequence[tuple[str, Mapping[str, float | None]]]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Chart.

    Parameters
    ----------
    title : str
        Text at the top.
    sides : tuple of str
        Bars of a row, one below the other, each with a colour.
    groups : sequence of Group
        Groups from top to bottom.
    shown : callable
        Returns a value as text.
    least : float
        Value that the longest bar has at least.

    """

    title: str
    sides: tuple[str, ...]
    groups: Sequence[Group]
    shown: Callable[[float | None], str]
    least: float = 0.0

    @property
    def scale(self) -> float:
        """Pixels per unit."""
        rows = [row for group in self.groups for _, row in group.rows]
        return BAR / max(self.least, *(value or 0 for row in rows for value in row.values()), 1e-9)

    @property
    def left(self) -> int:
        """Place of the bars."""
        labels = (label for group in self.groups for label, _ in group.rows)
        return 24 + round(LETTER * max(len(label) for label in labels))


def drawn(bars: Bars) -> str:
    """Return a chart as SVG."""
    y, body = TOP, list(legend(bars))
    for group in bars.groups:
        body.append(f'<text x="8" y="{y}">{escape(group.head)}</text>')
        y += GAP
        for label, values in group.rows:
            body += row_of(bars, label, values, y)
            y += len(values) * THICK + GAP
        y += HEAD
    width = bars.left + BAR + FIGURE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="18">{escape(bars.title)}</text>',
        *body,
        "</svg>\n",
    ])


def colour(bars: Bars, side: str) -> str:
    """Return the colour of a side."""
    return colour_of(bars.sides.index(side), len(bars.sides))


def row_of(bars: Bars, label: str, values: Mapping[str, float | None], y: int) -> Iterator[str]:
    """Yield the label, and bar and figure of each side that the row has."""
    middle = y + len(values) * THICK // 2 + 4
    yield f'<text x="{bars.left - 8}" y="{middle}" text-anchor="end">{escape(label)}</text>'
    for number, (side, value) in enumerate(values.items()):
        top, length = y + number * THICK, (value or 0) * bars.scale
        yield (
            f'<rect x="{bars.left}" y="{top}" width="{length:.2f}" height="{THICK - 1}" '
            f'fill="{colour(bars, side)}"/>'
        )
        text = escape(bars.shown(value))
        yield f'<text class="dim" x="{bars.left + length + 6:.1f}" y="{top + 10}">{text}</text>'


def legend(bars: Bars) -> Iterator[str]:
    """Yield the colours of all sides."""
    for number, side in enumerate(bars.sides):
        x = bars.left + 110 * number
        yield f'<rect x="{x}" y="26" width="12" height="12" fill="{colour(bars, side)}"/>'
        yield f'<text class="dim" x="{x + 17}" y="37">{side}</text>'
