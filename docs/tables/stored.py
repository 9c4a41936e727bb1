"""Stored results of `docs/records`, and their tables with commands and commits."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import table

__all__ = [
    "RECORDS",
    "Stored",
    "cited",
    "commands",
    "measured_at",
    "percent",
    "read",
    "section",
    "share",
]

RECORDS = Path(__file__).parents[1] / "records"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A stored run: its command, the commit it was measured at, its result and its text."""

    command: str
    revision: str
    sources: str | None
    result: dict[str, Any]
    output: str


def read(name: str) -> list[Stored]:
    """Return the runs of a file of `docs/records`."""
    return [Stored(**run) for run in json.loads((RECORDS / f"{name}.json").read_text())]


def commands(runs: Iterable[Stored]) -> str:
    """Return the block of the commands of runs."""
    return "\n".join(["```sh", *dict.fromkeys(run.command for run in runs), "```"])


def section(
    runs: Sequence[Stored],
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    has_commits: bool = False,
    examples: int | None = None,
) -> str:
    """Return the commands, the table and the commits of runs.

    Parameters
    ----------
    runs : sequence of Stored
        Their commands precede the table.
    header : sequence of str
        Heads of the columns.
    rows : iterable of sequences of str
        Cells of the table.
    has_commits : bool
        Whether the table has the commits; otherwise a line below it has them.
    examples : int or None
        Number of commands that are shown; None: all.

    """
    parts = ["", commands(runs[:examples]), "", table(header, rows), ""]
    return "\n".join(parts if has_commits else [*parts, measured_at(runs), ""])


def measured_at(runs: Iterable[Stored]) -> str:
    """Return the sentence that names the commits of runs."""
    return f"Measured at commit {cited(runs)}."


def cited(runs: Iterable[Stored]) -> str:
    """Return the commits of runs as a cell."""
    return ", ".join(dict.fromkeys(f"`{run.revision}`" for run in runs))


def share(value: float, digits: int = 2) -> str:
    """Return a share in percent, without the sign."""
    return f"{100 * value:.{digits}f}"


def percent(value: float, digits: int = 2) -> str:
    """Return a share in percent."""
    return f"{share(value, digits)} %"
