"""Options, and output, that several commands share."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

from cyclopts import Parameter, Token
from rich import box
from rich.console import Console
from rich.table import Table

from .files import Draft

__all__ = [
    "WHOLE",
    "Flag",
    "JsonOption",
    "JsonOutput",
    "SetOption",
    "Whole",
    "new_table",
    "piped_width",
    "standard_error",
    "standard_output",
]


def whole(_, tokens: Sequence[Token]) -> int:
    """Return an integer option, decimal or hexadecimal, written in ASCII digits."""
    text = tokens[0].value
    if not re.fullmatch(r"-?([0-9][0-9_]*|0x[0-9a-fA-F]+)", text):
        raise ValueError(f"must be an integer, not {text}")
    return int(text, 0 if "x" in text else 10)


#: Converter of integer options: a fraction is refused, not rounded.
WHOLE = Parameter(converter=whole)
Whole = Annotated[int | None, WHOLE]

#: An option that is on if it is given.
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
SetOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        negative=(),
        show_default=False,
        help="Set a field of the config, for example `--set matrix.rows=8`; may be repeated.",
    ),
]


def not_an_option(kind: type, value: str | None):
    """Refuse an option in place of a file."""
    if value is not None and value.startswith("-") and value != "-":
        raise ValueError(f"--json needs a file or -, not {value}")


JsonOption = Annotated[
    str | None,
    Parameter(
        name="--json",
        help="Write the result as JSON to this file; `-` prints it to standard output.",
        allow_leading_hyphen=True,  # for `-`
        validator=not_an_option,
    ),
]


#: Columns of piped output without ``$COLUMNS``, and the least number that is followed.
WIDTH, LEAST = 160, 40


def piped_width(default: int = WIDTH) -> int:
    """Return the columns of piped output: ``$COLUMNS``, at least `LEAST`, or a default."""
    columns = os.environ.get("COLUMNS", "")
    return max(LEAST, int(columns)) if columns.isascii() and columns.isdecimal() else default


def console(stream, *, stderr: bool = False) -> Console:
    """Return a console: of the terminal's width, or plain and of `COLUMNS` or `WIDTH` columns."""
    width = None if stream.isatty() else piped_width()
    return Console(stderr=stderr, width=width, highlight=False)


def standard_output() -> Console:
    """Return the console of results."""
    return console(sys.stdout)


def standard_error() -> Console:
    """Return the console of messages."""
    return console(sys.stderr, stderr=True)


def new_table(title: str, *columns: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table, with rules only on a terminal; `numbers` are right-aligned."""
    ruled = sys.stdout.isatty()
    table = Table(title=title, title_justify="left", box=box.ROUNDED if ruled else None)
    table.show_header = any(columns)
    for place, column in enumerate(columns):
        # Names stay whole on a narrow terminal, other cells continue below.
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right")
    return table


class JsonOutput:
    """Destination of ``--json``: a file, standard output, or none.

    The file is opened before the work, so that an unwritable place is refused at once.

    Parameters
    ----------
    target : str or None
        A file, ``-`` for standard output, None for none.

    """

    def __init__(self, target: str | None):
        self.prints = target == "-"
        self.draft = None if target is None or self.prints else Draft(target)

    def write(self, result) -> bool:
        """Write `result`; return whether standard output is free for a report."""
        text = json.dumps(result, indent=2, allow_nan=False) + "\n"
        if self.prints:
            print(text, end="")
        elif self.draft is not None:
            self.draft.write(text)
            self.draft.commit()
        return not self.prints

    def __enter__(self) -> "JsonOutput":
        return self

    def __exit__(self, *_):
        if self.draft is not None:
            self.draft.discard()
