"""What several commands share: options, the choice of a config, output."""

import difflib
import json
import sys
from collections.abc import Iterable
from typing import Annotated, TypeVar

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from ..hw.base.errors import UserError
from ..hw.config import PRESETS, ClusterConfig
from ..hw.config.override import override
from .files import Draft

Config = TypeVar("Config")

__all__ = [
    "JsonOption",
    "JsonOutput",
    "SetOption",
    "changed",
    "choose",
    "configured",
    "new_table",
    "standard_error",
    "standard_output",
]

SetOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        negative=(),
        help="Change a field of the config, as in `--set matrix.rows=8`; may be repeated.",
    ),
]


def not_an_option(kind: type, value: str | None):
    """Refuse an option where a file must stand."""
    if value is not None and value.startswith("-") and value != "-":
        raise ValueError(f"a file must be named, not {value}")


JsonOption = Annotated[
    str | None,
    Parameter(
        name="--json",
        help="Write the result to this file as JSON; `-` prints it instead.",
        allow_leading_hyphen=True,  # for `-`
        validator=not_an_option,
    ),
]

WIDTH = 160  # of tables that do not go to a terminal, where nothing says how wide they may be


def console(stream, *, stderr: bool = False) -> Console:
    """Return a console that is plain, and wide, unless `stream` is a terminal."""
    width = None if stream.isatty() else WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


def standard_output() -> Console:
    """Return the console of results."""
    return console(sys.stdout)


def standard_error() -> Console:
    """Return the console of progress."""
    return console(sys.stderr, stderr=True)


def new_table(title: str, *columns: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table, ruled on a terminal and plain elsewhere; `numbers` align right."""
    ruled = sys.stdout.isatty()
    table = Table(title=title, title_justify="left", box=box.ROUNDED if ruled else None)
    table.show_header = any(columns)
    for column in columns:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def choose(kind: str, name: str, known: Iterable[str]) -> str:
    """Return `name` if it is `known`, else say what may have been meant."""
    names = list(known)
    if name in names:
        return name
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
    raise UserError(f"unknown {kind} {name!r}; {hint}")


def configured(preset: str, settings: Iterable[str]) -> ClusterConfig:
    """Return the config of `preset` with the user's settings."""
    return changed(PRESETS[choose("preset", preset, PRESETS)], settings)


def changed(config: Config, settings: Iterable[str]) -> Config:
    """Return a config with the user's settings."""
    try:
        return override(config, settings)
    except ValueError as error:
        raise UserError(f"cannot set {', '.join(settings)}: {error}") from None


class JsonOutput:
    """Where ``--json`` sends a result: a file that is opened at once, standard output, nowhere.

    Parameters
    ----------
    target : str or None
        A file, ``-`` for standard output, None for nowhere.

    """

    def __init__(self, target: str | None):
        self.prints = target == "-"
        self.draft = None if target is None or self.prints else Draft(target)

    def write(self, result) -> bool:
        """Deliver `result`; return whether standard output remains for people."""
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
