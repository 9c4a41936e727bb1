"""Charts of a comparison: the main figures of all machines first, then details by kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ..tables.comparison import Comparison, with_ratios
from ..tables.figures import Figure, shown
from .bars import Bar, Bars, bars_chart
from .files import chart_page, figure, table

__all__ = ["comparison_chart", "comparison_page", "comparison_table"]

#: Main figures by section and name, each with those that replace it if no machine has it.
MAIN = (
    (("speed", "cycles"), ("instructions", "retired")),
    (("speed", "mac_utilization"), ("speed", "issue_utilization")),
    (("energy", "pj_per_mac"), ("energy", "total_pj")),
    (("area", "nand2_with_sram"),),
)


@dataclass(frozen=True)
class Panel:
    """Panel of details.

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
    has_numerics : bool
        Whether the figures depend on the numerics of products, which are then named.

    """

    title: str
    section: str
    names: tuple[str, ...] = ()
    whole: str = "total"
    has_numerics: bool = False

    def parts(self, figures: Sequence[Figure]) -> list[Figure]:
        """Return the figures that are drawn."""
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


PANELS = (
    Panel("warp instructions", "instructions", ("not_polling", "polling"), "retired"),
    Panel("issue slots, share", "issue_slots"),
    Panel("cycles of the matrix units, share", "matrix_units"),
    Panel("bytes read from shared memory, by requester", "shared_memory"),
    Panel("bytes of DRAM", "memory", ("dram_read_bytes", "dram_written_bytes")),
    Panel("energy by group, pJ", "energy_groups"),
    Panel("area by group, NAND2 equivalents, including SRAM", "groups", has_numerics=True),
)
#: Titles of panels with many rows.
GROUPED = tuple(panel.title for panel in PANELS if panel.section.endswith("groups"))


def main_figures(comparison: Comparison) -> Iterator[Bars]:
    """Yield a chart of each main figure, with a row per machine."""
    known = {(figure.section, figure.name): figure for figure in comparison.figures}
    for choices in MAIN:
        chosen = next((known[choice] for choice in choices if choice in known), None)
        if chosen is not None:
            yield Bars(
                title=chosen.label,
                sides=comparison.names,
                bars=[
                    Bar(label=name, side=name, value=value, text=shown(chosen, value))
                    for name, value in zip(comparison.names, chosen.values, strict=True)
                ],
            )


def details(comparison: Comparison) -> Iterator[Bars]:
    """Yield a chart of each panel that has figures: a row per figure, a bar per machine."""
    for panel in PANELS:
        if parts := panel.parts(comparison.figures):
            yield Bars(
                title=panel.title,
                sides=comparison.names,
                notes=list(numerics_notes(comparison)) if panel.has_numerics else (),
                bars=[
                    Bar(label=part.label, side=name, value=value, text=shown(part, value))
                    for part in parts
                    for name, value in zip(comparison.names, part.values, strict=True)
                ],
            )


def numerics_notes(comparison: Comparison) -> Iterator[str]:
    """Yield the numerics of products with the machines that have them."""
    machines: dict[str, list[str]] = {}
    for name, numerics in zip(comparison.names, comparison.numerics, strict=True):
        machines.setdefault(numerics, []).append(name)
    for numerics, names in machines.items():
        yield f"numerics of products: {numerics} ({', '.join(names)})"


def comparison_chart(comparison: Comparison):
    """Return the main figures side by side, and the details below: sums by group at the right."""
    import altair as alt

    title = f"spica compare {comparison.title}"
    if not comparison.figures:
        return alt.Chart(title=title).mark_text(text="no machine has a figure")
    main = [bars_chart(bars, width=150) for bars in main_figures(comparison)]
    columns: tuple[list, list] = [], []
    for bars in details(comparison):
        columns[bars.title in GROUPED].append(bars_chart(bars))
    below = [alt.vconcat(*column) for column in columns if column]
    return alt.vconcat(alt.hconcat(*main), alt.hconcat(*below), title=title)


def comparison_table(comparison: Comparison) -> str:
    """Return the table of a page: all figures, section by section."""
    lines = (
        (section, []) if label is None else (label, cells)
        for section, label, cells in comparison.table()
    )
    return table(["figure", *with_ratios(comparison.names, [])], lines)


def comparison_page(comparison: Comparison) -> str:
    """Return the page: charts as wide as the window, table and notes."""
    return chart_page(
        f"Spica: compare {comparison.title}",
        "point at a bar: its value; ratios are to the first machine",
        [
            '<div class="charts opening">',
            *(figure(bars_chart(bars, width=None)) for bars in main_figures(comparison)),
            '</div><div class="charts">',
            *(figure(bars_chart(bars, width=None)) for bars in details(comparison)),
            "</div>",
            comparison_table(comparison),
            *(f'<p class="notes">{escape(note)}</p>' for note in comparison.notes),
        ],
    )
