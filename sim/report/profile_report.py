"""Tables of a profile by function, source line and instruction."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from .tables import percent

__all__ = ["profile_tables"]

#: Functions and lines shown; the JSON result has all.
FUNCTIONS, LINES = 12, 20
#: States of a warp shown next to a function or line, those with the most of its cycles: one, or two
#: in tables of this width.
WIDE = 120
#: Columns of numbers, the first ones.
NUMBERS = 3
#: Columns of space around a cell, and the least width of a source line.
MARGIN, LEAST = 3, 14
Row = Mapping[str, Any]


def profile_tables(profile: Row, width: int) -> Iterator[Table]:
    """Yield the tables of a profile: warp cycles by function, by line and by instruction."""
    functions = [
        (row, (row["function"] or "elsewhere", file_name(row))) for row in profile["functions"]
    ]
    lines = [(row, (place_of(row), (row["text"] or "").strip())) for row in profile["lines"]]
    yield table_of(
        "Time of warps by function", ("function", "file"), functions, FUNCTIONS, profile, width
    )
    yield table_of("Time of warps by source line", ("line", "source"), lines, LINES, profile, width)
    code = [(row, (place_of(row), code_text(row))) for row in profile["code"]]
    yield table_of(
        "Time of warps by instruction",
        ("line", "instruction <- waited for"),
        code,
        FUNCTIONS,
        profile,
        width,
    )


def table_of(
    title: str,
    names: tuple[str, str],
    rows: Sequence[tuple[Row, tuple[str, str]]],
    limit: int,
    whole: Row,
    width: int,
) -> Table:
    """Return a table of rows, each with its name in two columns; it ends with the whole.

    The last column is cut where the table would be wider than `width`.
    """
    total, states = max(1, whole["cycles"]), 2 if width >= WIDE else 1
    cells = [(*counts(row, total), waits(row, states), *texts) for row, texts in rows[:limit]]
    rest = [row for row, _ in rows[limit:]]
    if rest:
        sums = {key: sum(row[key] for row in rest) for key in ("cycles", "instructions")}
        cells.append((*counts(sums, total), "", f"{len(rest):,} more", ""))
    cells.append((*counts(whole, total), waits(whole, states), "all", ""))
    heads = ("share", "cycles", "instructions", "waiting for", *names)
    used = sum(max(map(len, column)) for column in list(zip(heads, *cells, strict=True))[:-1])
    room = max(LEAST, width - used - MARGIN * len(heads))
    cells = [(*row[:-1], shortened(row[-1], room)) for row in cells]
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, head in enumerate(heads):
        justify = "right" if number < NUMBERS else "left"
        table.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis")
    for number, row in enumerate(cells):
        # Text, as brackets in a source line are not markup.
        table.add_row(*map(Text, row), end_section=number == len(cells) - 2)
    return table


def shortened(text: str, room: int) -> str:
    """Return a text of at most `room` characters, with an ellipsis if it is cut."""
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def counts(row: Row, total: int) -> tuple[str, str, str]:
    """Return share, cycles and instructions of a row."""
    return percent(row["cycles"] / total), f"{row['cycles']:,}", f"{row['instructions']:,}"


def waits(row: Row, states: int) -> str:
    """Return the `states` states in which most of a row's cycles were spent."""
    total = max(1, row["cycles"])
    ordered = sorted(row["states"].items(), key=lambda item: -item[1])[:states]
    return ", ".join(f"{name.replace('_', ' ')} {100 * n / total:.0f} %" for name, n in ordered)


def code_text(row: Row) -> str:
    """Return an instruction, with the one for whose result it waited most."""
    return " <- ".join([row["assembly"], *(wait["assembly"] for wait in row["waits"][:1])])


def file_name(row: Row) -> str:
    """Return the name of a row's file, or an empty string."""
    return Path(row["file"]).name if row["file"] else ""


def place_of(row: Row) -> str:
    """Return the place of a source line, the function if its line is not known."""
    return f"{file_name(row)}:{row['line']}" if row["line"] else row["function"] or "elsewhere"
