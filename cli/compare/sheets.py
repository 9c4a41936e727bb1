"""Table of ``spica compare`` on the terminal."""

import sys

from ...explore.comparison import Comparison, with_ratios
from ..options import new_table, standard_output

__all__ = ["print_comparison"]


def print_comparison(comparison: Comparison):
    """Print a column per machine and a row per figure, then the notes."""
    out = standard_output()
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
