"""SVG chart of the areas of several machines: a bar per machine, a colour per group."""

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from html import escape

from .groups import GROUPS

__all__ = ["area_picture"]

STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
.dim { fill: #69707a; } .line { stroke: #d4d8de; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .dim { fill: #9aa2ad; } .line { stroke: #343b44; } }
""".strip()
TOP, HEIGHT, BAR, GAP, AXIS, LETTER = 52, 360, 46, 30, 74, 7.3
LEGEND, LEGEND_ROW = 240, 18


def area_picture(title: str, unit: str, machines: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return the picture as SVG.

    Parameters
    ----------
    title, unit : str
        Title of the picture, and unit of its areas.
    machines : sequence of tuple
        Name of each machine, and the area of each of its groups.

    """
    present = {group for _, areas in machines for group in areas}
    groups = [group for group in GROUPS if group in present] + sorted(present - GROUPS.keys())
    colours = {group: colour_of(k, len(groups)) for k, group in enumerate(groups)}
    step_width = max(BAR + GAP, *(round(LETTER * len(name)) + 14 for name, _ in machines))
    right = AXIS + step_width * len(machines) + 12
    width = right + LEGEND
    height = max(TOP + HEIGHT + 34, TOP + LEGEND_ROW * (len(groups) + 1))
    most = max((sum(areas.values()) for _, areas in machines), default=0) or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="18">{escape(title)}</text>',
        f'<text class="dim" x="8" y="36">{escape(unit)}</text>',
        *axis(most, right),
    ]
    for number, (name, areas) in enumerate(machines):
        parts += bar(name, areas, colours, AXIS + step_width * number, step_width, HEIGHT / most)
    for row, group in enumerate(reversed(groups)):  # in stacking order
        y = TOP + LEGEND_ROW * row
        parts.append(f'<rect x="{right}" y="{y}" width="12" height="12" fill="{colours[group]}"/>')
        parts.append(f'<text x="{right + 18}" y="{y + 11}">{escape(group)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def colour_of(number: int, count: int) -> str:
    """Return one of `count` colours, strong and pale in turn, in hexadecimal for all readers."""
    saturation, lightness = ((0.55, 0.52), (0.40, 0.66))[number % 2]
    parts = hls_to_rgb(number / count, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def axis(most: float, right: int) -> list[str]:
    """Return gridlines at round areas."""
    steps = (10.0**n * m for n in range(15) for m in (1, 2, 5))
    step = next(step for step in steps if step * 6 > most)
    parts = []
    for k in range(int(most / step) + 1):
        y = TOP + HEIGHT * (1 - k * step / most)
        parts.append(f'<line class="line" x1="{AXIS}" y1="{y:.1f}" x2="{right - 8}" y2="{y:.1f}"/>')
        text = f'<text class="dim" x="{AXIS - 6}" y="{y + 4:.1f}" text-anchor="end">'
        parts.append(f"{text}{short(k * step)}</text>")
    return parts


def bar(
    name: str,
    areas: Mapping[str, float],
    colours: Mapping[str, str],
    x: float,
    width: float,
    scale: float,
) -> list[str]:
    """Return the bar of one machine, its name and its total."""
    centre, y = x + width / 2, TOP + float(HEIGHT)
    parts = []
    for group, colour in colours.items():
        tall = areas.get(group, 0.0) * scale
        if tall > 0:
            y -= tall
            parts.append(
                f'<rect x="{centre - BAR / 2:.1f}" y="{y:.2f}" width="{BAR}" height="{tall:.2f}" '
                f'fill="{colour}"><title>{escape(group)}: {areas[group]:,.0f}</title></rect>'
            )
    middle = f'x="{centre:.1f}" text-anchor="middle"'
    parts.append(f'<text class="dim" {middle} y="{y - 4:.1f}">{short(sum(areas.values()))}</text>')
    parts.append(f'<text {middle} y="{TOP + HEIGHT + 18}">{escape(name)}</text>')
    return parts


def short(number: float) -> str:
    """Return a number in short form."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number:.4g}"
