"""Table of text for the console and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from .options import new_table

__all__ = ["Sheet"]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Table of text.

    Parameters
    ----------
    title : str
        Title.
    column : str
        Head of the first column, with names.
    numbers : sequence of str
        Heads of the other columns, with numbers.
    rows : sequence of sequence of str
        Rows, one cell per column.
    sums : sequence of str
        Last row, set apart; empty for none.
    notes : sequence of str
        Sentences below it.
    """

    title: str
    column: str
    numbers: Sequence[str]
    rows: Sequence[Sequence[str]]
    sums: Sequence[str] = ()
    notes: Sequence[str] = ()

    def printed(self) -> Table:
        """Return the table for a console."""
        table = new_table(self.title, self.column, numbers=self.numbers)
        for row in self.rows:
            table.add_row(*row)
        if self.sums:
            table.add_section()
            table.add_row(*self.sums)
        return table

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [f"## {self.title}", "", line_of([self.column, *self.numbers])]
        lines.append(line_of(["---", *("---:" for _ in self.numbers)]))
        lines += [line_of(row) for row in self.rows]
        if self.sums:
            lines.append(line_of([f"**{cell}**" if cell else "" for cell in self.sums]))
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


def line_of(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"
