"""Tables of reports: shares of a whole."""

import io
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .utilization import ACTIVITIES

__all__ = ["activity_table", "new_table", "percent", "share_table", "text_of"]


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.2f} %"


def activity_table(breakdown: Mapping[str, Any], title: str, whole: str) -> Table:
    """Return the cycles of a matrix unit by activity, without those of 0."""
    table = new_table(title, "cycles", "activity")
    for name, (_, meaning) in ACTIVITIES.items():
        part = breakdown.get(name)
        if part and part["cycles"]:
            table.add_row(percent(part["share"]), f"{part['cycles']:,.0f}", meaning)
    total = sum(part["cycles"] for part in breakdown.values())
    table.add_section()
    table.add_row("100 %", f"{total:,.0f}", whole)
    return table


def share_table(title: str, unit: str, column: str, counts: Mapping[str, int]) -> Table:
    """Return shares and counts by name, the largest first, without those of 0."""
    table = new_table(title, unit, column)
    total = max(1, sum(counts.values()))
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count:
            table.add_row(percent(count / total), f"{count:,}", name)
    return table


def new_table(title: str, unit: str, column: str) -> Table:
    """Return an empty table of shares."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column(unit, justify="right", no_wrap=True)
    table.add_column(column)
    return table


def text_of(table: Table, width: int) -> str:
    """Return a table as text without blanks at the ends of lines or empty lines around it."""
    text = io.StringIO()
    Console(file=text, width=width, highlight=False, no_color=True).print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)
