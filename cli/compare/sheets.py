"""Summary and table of ``spica compare`` on the terminal."""

import sys
from collections.abc import Callable, Iterator

from rich.table import Table

from ...explore.tables.comparison import Comparison, with_ratios
from ...explore.tables.figures import shown
from ..options import new_table, standard_output

__all__ = ["print_comparison"]

#: Figures of the summary, by section and name, each with the function that finds the best value.
SUMMARY: dict[tuple[str, str], Callable] = {
    ("speed", "cycles"): min,
    ("speed", "operations_per_cycle"): max,
    ("speed", "mac_utilization"): max,
    ("instructions", "retired"): min,
    ("memory", "dram_read_bytes"): min,
    ("energy", "total_pj"): min,
    ("energy", "energy_delay"): min,
    ("area", "nand2_with_sram"): min,
    ("area", "depth"): min,
}


def print_comparison(comparison: Comparison):
    """Print the best of each measure, a column per machine and a row per figure, then the notes."""
    out = standard_output()
    best = Table.grid(padding=(0, 3, 0, 0))
    for row in summary(comparison):
        best.add_row(*row)
    if best.row_count:
        out.print(f"best of {len(comparison.names)} machines, and its ratio to the first")
        out.print(best)
        out.print()
    heads = with_ratios(comparison.names, [])
    table = new_table(f"spica compare {comparison.title}", "figure", numbers=heads)
    for section, label, cells in comparison.table():
        if label is not None:
            table.add_row(f"  {label}" if section else label, *cells)
            continue
        if sys.stdout.isatty():
            table.add_section()
        else:
            table.add_row()
        table.add_row(f"[bold]{section}[/bold]")
    out.print(table)
    for note in comparison.notes:
        out.print(note, markup=False)


def summary(comparison: Comparison) -> Iterator[list[str]]:
    """Yield label, best machines, value and ratio of each measure that several machines have."""
    figures = {(figure.section, figure.name): figure for figure in comparison.figures}
    for place, best_of in SUMMARY.items():
        figure = figures.get(place)
        values = [] if figure is None else [value for value in figure.values if value is not None]
        if figure is None or len(values) < 2:
            continue
        best = best_of(values)
        first = figure.values.index(best)
        names = [
            name
            for name, value in zip(comparison.names, figure.values, strict=True)
            if value == best
        ]
        label = "warp instructions" if place[0] == "instructions" else figure.label
        ratio = figure.ratios[first]
        yield [
            f"  {label}",
            " = ".join(names),
            shown(figure, best),
            "" if ratio is None else f"x{ratio:.2f}",
        ]
