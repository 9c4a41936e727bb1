"""SVG chart of the points of a sweep: one colour per preset, lines along a field or the front."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log10

from ..synth.area_picture import colour_of, short
from .pareto import front
from .quantity import Quantity
from .table import Row

__all__ = ["pareto_chart", "plot_chart"]

STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
.dim { fill: #69707a; } .line { stroke: #d4d8de; } .front { stroke: #d1242f; fill: none; }
circle.beaten { opacity: 0.35; } circle.marked { stroke: #d1242f; stroke-width: 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .dim { fill: #9aa2ad; } .line { stroke: #343b44; } }
""".strip()
LEFT, TOP, WIDTH, HEIGHT, BELOW, LEGEND = 80, 56, 600, 380, 48, 18
RADIUS = 5
#: Grid lines of an axis, at least.
GRID = 5


@dataclass(frozen=True)
class Scale:
    """Linear scale from values to pixels, with round grid lines.

    Parameters
    ----------
    low, high : float
        Values at the ends.
    begin, end : int
        Pixels of these ends.

    """

    low: float
    high: float
    begin: int
    end: int

    def __call__(self, value: float) -> float:
        """Return the place of a value in pixels."""
        share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    @property
    def grid(self) -> Iterator[float]:
        """Round values between the ends."""
        largest = (self.high - self.low) / GRID
        ten = 10.0 ** (ceil(log10(largest)) - 1)
        step = max(ten * factor for factor in (1, 2, 5) if ten * factor <= largest)
        number = ceil(self.low / step)
        while number * step <= self.high:
            yield number * step
            number += 1


def scale_of(values: Sequence[float], begin: int, end: int) -> Scale:
    """Return the scale of values, with a margin."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low - margin, high + margin, begin, end)


def plot_chart(title: str, x: Quantity, y: Quantity, rows: Sequence[Row]) -> str:
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
    places = places_of(x, y, rows)
    lines: dict[tuple, list[int]] = {}
    if x.is_field:
        for number in sorted(places, key=lambda number: places[number]):
            row = rows[number]
            others = {field: value for field, value in row.settings.items() if field != x.name}
            lines.setdefault((row.preset, *others.values()), []).append(number)
    return drawn(title, x, y, rows, places, [*lines.values()], None)


def pareto_chart(title: str, x: Quantity, y: Quantity, rows: Sequence[Row]) -> str:
    """Return the chart of all rows with both figures, and the front of the best; see `plot_chart`.

    A dominated point is pale.
    """
    places = places_of(x, y, rows)
    numbers = [*places]
    best = front([places[number] for number in numbers], (x.better, y.better))
    return drawn(title, x, y, rows, places, [], [numbers[place] for place in best])


def places_of(x: Quantity, y: Quantity, rows: Sequence[Row]) -> dict[int, tuple[float, float]]:
    """Return the values of the rows that passed and have both figures, by their numbers."""
    found = {}
    for number, row in enumerate(rows):
        across, up = x.value(row), y.value(row)
        if row.is_passed and across is not None and up is not None:
            found[number] = across, up
    return found


def drawn(
    title: str,
    x: Quantity,
    y: Quantity,
    rows: Sequence[Row],
    places: Mapping[int, tuple[float, float]],
    lines: Sequence[Sequence[int]],
    best: Sequence[int] | None,
) -> str:
    """Return the chart as SVG; `best` are the numbers of the front."""
    presets = [*dict.fromkeys(rows[number].preset for number in places)]
    colours = {preset: colour_of(k, len(presets)) for k, preset in enumerate(presets)}
    width, height = LEFT + WIDTH + 24, TOP + HEIGHT + BELOW + LEGEND * ceil(len(presets) / 4) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="18">{escape(title)}</text>',
        f'<text class="dim" x="8" y="40">{escape(f"{y.label} ↑")}</text>',
        f'<text class="dim" x="{LEFT + WIDTH}" y="{TOP + HEIGHT + 36}" text-anchor="end">'
        f"{escape(f'{x.label} →')}</text>",
    ]
    if not places:
        parts.append(f'<text x="{LEFT}" y="{TOP + 40}">no point has both figures</text>')
        return "\n".join([*parts, "</svg>"]) + "\n"
    across = scale_of([place[0] for place in places.values()], LEFT, LEFT + WIDTH)
    up = scale_of([place[1] for place in places.values()], TOP + HEIGHT, TOP)
    pixels = {number: (across(a), up(b)) for number, (a, b) in places.items()}
    parts += grid(across, up)
    for line in lines:
        colour = colours[rows[line[0]].preset]
        parts.append(f'<polyline {path(pixels, line)} fill="none" stroke="{colour}"/>')
    if best is not None:
        parts.append(f'<polyline class="front" {path(pixels, best)}/>')
    for number, (a, b) in pixels.items():
        kind = ' class="beaten"' if best is not None and number not in best else ""
        parts.append(
            f'<circle{kind} data-row="{number}" cx="{a:.1f}" cy="{b:.1f}" r="{RADIUS}" '
            f'fill="{colours[rows[number].preset]}"><title>'
            f"{escape(name_of(rows[number], x, y))}</title></circle>"
        )
    parts += legend(colours, TOP + HEIGHT + BELOW)
    return "\n".join([*parts, "</svg>"]) + "\n"


def grid(across: Scale, up: Scale) -> Iterator[str]:
    """Yield grid lines with their values."""
    bottom, right = TOP + HEIGHT, LEFT + WIDTH
    for value in across.grid:
        x = f"{across(value):.1f}"
        yield f'<line class="line" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>'
        yield (
            f'<text class="dim" x="{x}" y="{bottom + 16}" text-anchor="middle">'
            f"{short(value)}</text>"
        )
    for value in up.grid:
        y = up(value)
        yield f'<line class="line" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield (
            f'<text class="dim" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{short(value)}</text>"
        )


def path(pixels: Mapping[int, tuple[float, float]], numbers: Sequence[int]) -> str:
    """Return the attribute with the points of a line."""
    return f'points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in map(pixels.__getitem__, numbers))}"'


def name_of(row: Row, x: Quantity, y: Quantity) -> str:
    """Return the preset, the fields and both figures of a row, a line each."""
    fields = [f"{field} = {value}" for field, value in row.settings.items()]
    figures = [f"{each.name}: {row.figures[each.name]:,}" for each in (x, y) if not each.is_field]
    return "\n".join([row.preset, *fields, *figures])


def legend(colours: Mapping[str, str], y: int) -> Iterator[str]:
    """Yield a colour and a name for each preset, four to a line."""
    for number, (preset, colour) in enumerate(colours.items()):
        x, below = LEFT + WIDTH // 4 * (number % 4), y + LEGEND * (number // 4)
        yield f'<circle cx="{x}" cy="{below}" r="{RADIUS}" fill="{colour}"/>'
        yield f'<text x="{x + 12}" y="{below + 4}">{escape(preset)}</text>'
