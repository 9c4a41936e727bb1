"""SVG chart of a reproduction: for each size and line a bar of ours and one of the published."""

from collections.abc import Iterator
from html import escape

from ...synth.area_picture import STYLE, colour_of
from .definitions import SHARE
from .reproduced import Entry, Reproduced

__all__ = ["picture"]

#: Pixels: width of a letter, length of the longest bar, room for its figure; heights.
LETTER, BAR, FIGURE, TOP, HEAD, THICK, GAP = 7.3, 460, 80, 56, 22, 12, 10
SIDES = ("ours", "published")
COLOURS = {side: colour_of(number, len(SIDES)) for number, side in enumerate(SIDES)}


def picture(reproduced: Reproduced) -> str:
    """Return the chart as SVG; shares are drawn to the whole, others to the largest figure."""
    entries = reproduced.entries
    values = [value for each in entries for value in (each.ours, each.published) if value]
    most = max([1.0] if reproduced.table.unit == SHARE and max(values, default=1) > 0.2 else values)
    left = 24 + round(LETTER * max(len(line.label) for line in reproduced.table.lines))
    y, body = TOP, list(legend(left))
    for size in reproduced.comparisons:
        body.append(f'<text x="8" y="{y}">{size} x {size} x {size}</text>')
        y += GAP
        for entry in (each for each in entries if each.size == size):
            body += bars(reproduced, entry, left, y, BAR / most)
            y += len(SIDES) * THICK + GAP
        y += HEAD
    width = left + BAR + FIGURE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="18">{escape(reproduced.table.title)}</text>',
        *body,
        "</svg>\n",
    ])


def bars(reproduced: Reproduced, entry: Entry, left: int, y: int, scale: float) -> Iterator[str]:
    """Yield the label, and bar and figure of each side."""
    place = y + THICK + 4
    yield f'<text x="{left - 8}" y="{place}" text-anchor="end">{escape(entry.label)}</text>'
    for number, side in enumerate(SIDES):
        value, top = getattr(entry, side), y + number * THICK
        length = (value or 0) * scale
        yield (
            f'<rect x="{left}" y="{top}" width="{length:.2f}" height="{THICK - 1}" '
            f'fill="{COLOURS[side]}"/>'
        )
        text = escape(reproduced.shown(value))
        yield f'<text class="dim" x="{left + length + 6:.1f}" y="{top + 10}">{text}</text>'


def legend(left: int) -> Iterator[str]:
    """Yield the colours of both sides."""
    for number, side in enumerate(SIDES):
        x = left + 110 * number
        yield f'<rect x="{x}" y="26" width="12" height="12" fill="{COLOURS[side]}"/>'
        yield f'<text class="dim" x="{x + 17}" y="37">{side}</text>'
