"""SVG chart of a comparison: a panel for each kind of figure, with a stacked bar per machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..synth.area_picture import STYLE, colour_of, short
from .comparison import Comparison
from .figures import Figure

__all__ = ["comparison_chart"]

#: Pixels: width of a letter, of a bar at its longest, room for its total; heights.
LETTER, BAR, TOTAL, TOP, ROW, THICK, LEGEND, GAP = 7.3, 560, 90, 44, 24, 16, 18, 22
#: Pixels on the left, without the names of machines.
LEFT = 20


@dataclass(frozen=True)
class Panel:
    """Panel of the chart.

    Parameters
    ----------
    title : str
        Title with the unit.
    section : str
        Section of its figures.
    names : tuple of str
        Names of its figures; empty for all of the section except `whole`.
    whole : str
        Name of the figure that is drawn if a machine has it and not all of `names`.
    is_share : bool
        Whether the figures are shares of 1.
    has_numerics : bool
        Whether the figures depend on the numerics of products, which are then named.

    """

    title: str
    section: str
    names: tuple[str, ...] = ()
    whole: str = "total"
    is_share: bool = False
    has_numerics: bool = False

    def parts(self, figures: Sequence[Figure]) -> list[Figure]:
        """Return the figures that are stacked."""
        own = {figure.name: figure for figure in figures if figure.section == self.section}
        if not self.names:
            return [figure for name, figure in own.items() if name != self.whole]
        parts = [own[name] for name in self.names if name in own]
        whole = own.get(self.whole)
        if whole is None:
            return parts
        has_all = len(parts) == len(self.names) and all(
            value is None or all(part.values[number] is not None for part in parts)
            for number, value in enumerate(whole.values)
        )
        return parts if has_all else [whole]

    def total(self, value: float) -> str:
        """Return the length of a bar as text."""
        return "" if self.is_share else short(value)


PANELS = (
    Panel("cycles", "speed", ("cycles",)),
    Panel("warp instructions", "instructions", ("not_polling", "polling"), "retired"),
    Panel("issue slots, share", "issue_slots", is_share=True),
    Panel("cycles of the matrix units, share", "matrix_units", is_share=True),
    Panel("bytes read from shared memory, by requester", "shared_memory"),
    Panel("bytes of DRAM", "memory", ("dram_read_bytes", "dram_written_bytes")),
    Panel("area by group, NAND2 equivalents, including SRAM", "groups", has_numerics=True),
)


def comparison_chart(comparison: Comparison) -> str:
    """Return the chart as SVG."""
    left = LEFT + round(LETTER * max(len(name) for name in comparison.names))
    width = left + BAR + TOTAL
    y, body = TOP, []
    for panel in PANELS:
        if parts := panel.parts(comparison.figures):
            note = numerics_text(comparison) if panel.has_numerics else ""
            lines, height = drawn(panel, parts, comparison.names, left, y, note)
            body += lines
            y += height + GAP
    if not body:
        body.append(f'<text x="{LEFT}" y="{y}">no machine has a figure</text>')
        y += GAP
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="18">{escape(f"spica compare {comparison.title}")}</text>',
        *body,
        "</svg>\n",
    ])


def numerics_text(comparison: Comparison) -> str:
    """Return the numerics of products and the machines that have them."""
    machines: dict[str, list[str]] = {}
    for name, numerics in zip(comparison.names, comparison.numerics, strict=True):
        machines.setdefault(numerics, []).append(name)
    parts = (f"{numerics} ({', '.join(names)})" for numerics, names in machines.items())
    return f"numerics of products: {', '.join(parts)}"


def drawn(
    panel: Panel, parts: Sequence[Figure], names: Sequence[str], left: int, top: int, note: str
) -> tuple[list[str], int]:
    """Return the elements of a panel, and its height; `note` is a line below its title."""
    colours = {part.name: colour_of(k, len(parts)) for k, part in enumerate(parts)}
    sums = [sum(part.values[k] or 0 for part in parts) for k in range(len(names))]
    scale = BAR / (max(sums) or 1)
    lines, first = [f'<text x="8" y="{top}">{escape(panel.title)}</text>'], top + 10
    if note:
        lines.append(f'<text class="dim" x="8" y="{top + 16}">{escape(note)}</text>')
        first += 16
    for number, name in enumerate(names):
        y = first + ROW * number
        lines.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        lines += bar(panel, parts, colours, number, (left, y), scale)
    y = first + ROW * len(names)
    if len(parts) == 1:
        return lines, y - top
    entries, y = legend(parts, colours, left, y + 4)
    return [*lines, *entries], y - top


def bar(
    panel: Panel,
    parts: Sequence[Figure],
    colours: Mapping[str, str],
    number: int,
    place: tuple[int, int],
    scale: float,
) -> Iterator[str]:
    """Yield the parts of a machine's bar and its total; a dash for a machine without figures."""
    x, y = float(place[0]), place[1]
    total = 0.0
    for part in parts:
        value = part.values[number] or 0
        if value > 0:
            text = f"{value:.2%}" if panel.is_share else f"{value:,.0f}"
            yield (
                f'<rect x="{x:.2f}" y="{y}" width="{value * scale:.2f}" height="{THICK}" '
                f'fill="{colours[part.name]}"><title>{escape(f"{part.label}: {text}")}</title>'
                "</rect>"
            )
            x += value * scale
            total += value
    is_present = any(part.values[number] is not None for part in parts)
    said = panel.total(total) if is_present else "-"
    yield f'<text class="dim" x="{x + 6:.1f}" y="{y + 13}">{said}</text>'


def legend(
    parts: Sequence[Figure], colours: Mapping[str, str], left: int, y: int
) -> tuple[list[str], int]:
    """Return a colour and a name for each part, wrapped into lines, and the place below."""
    x, lines = float(left), []
    for part in parts:
        wide = 22 + LETTER * len(part.label)
        if x > left and x + wide > left + BAR + TOTAL:
            x, y = float(left), y + LEGEND
        lines.append(
            f'<rect x="{x:.0f}" y="{y}" width="12" height="12" fill="{colours[part.name]}"/>'
        )
        lines.append(f'<text class="dim" x="{x + 17:.0f}" y="{y + 11}">{escape(part.label)}</text>')
        x += wide + 12
    return lines, y + LEGEND
