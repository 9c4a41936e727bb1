"""File of stored results: commands with their results, and the commit that each was measured at."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spica.base.errors import UserError

__all__ = ["FOLDER", "Run", "read", "shortened", "write"]

FOLDER = Path(__file__).parents[2] / "docs" / "records"
#: Keys of results that no page shows, at any depth.
DROPPED = frozenset({
    *("blocks", "buffers", "cache_latency", "clocked_cycles", "code_warnings", "config", "configs"),
    *("console", "cores", "counters", "fit", "load_latency", "meaning", "notes", "processes"),
    *("profile", "rules", "source_profile", "terms", "tiling", "versions"),
})


@dataclass(frozen=True, kw_only=True)
class Run:
    """A command and its result.

    Parameters
    ----------
    command : str
        As a user types it in the root of the tree.
    revision : str
        Last commit that changed sources before the run.
    sources : str or None
        Hash of the sources that ran; None for a result of another tree.
    result : mapping
        JSON of the command, without the keys that no page shows.
    output : str
        Text of the command; empty if no page shows it.

    """

    command: str
    revision: str = ""
    sources: str | None = None
    result: Mapping[str, Any]
    output: str = ""


def shortened(value: Any) -> Any:
    """Return a JSON value without the parts that no page shows.

    Tables of energies from events have figures of their own, so results keep energies from gates.
    """
    if isinstance(value, Mapping):
        return {
            key: shortened(part)
            for key, part in value.items()
            if key not in DROPPED
            and not (key == "energy" and isinstance(part, Mapping) and part["model"] == "events")
        }
    return [shortened(part) for part in value] if isinstance(value, list) else value


def read(path: Path) -> list[Run]:
    """Return the runs of a file.

    Raises
    ------
    UserError
        If the file is not one of stored results.

    """
    try:
        return [Run(**run) for run in json.loads(path.read_text())]
    except (OSError, TypeError, ValueError) as error:
        raise UserError(f"{path} must be a file of stored results: {error}") from error


def write(path: Path, runs: list[Run]) -> None:
    """Write a file in whole, so that an interrupt leaves the old one."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    new.replace(path)
