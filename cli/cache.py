"""Report and pruning of the build cache for ``spica doctor --cache``."""

import re
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..base.build_cache import cache_directory
from ..base.cache_contents import Entry, entries, remove_entry, unknown_files
from ..base.errors import UserError
from ..base.working_folders import remove_leftovers, working_folder
from .options import new_table, standard_output

__all__ = ["Pruning", "report_cache", "show_cache"]

SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
BYTES = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclass(frozen=True)
class Pruning:
    """Limits of the cache: entries beyond them are removed, those with the oldest use first.

    Attributes
    ----------
    age : float or None
        Maximum time since the last use, in seconds; None for no limit.
    size : int or None
        Maximum size of all entries, in bytes; None for no limit.

    """

    age: float | None
    size: int | None

    @classmethod
    def of(cls, age: str | None, size: str | None) -> "Pruning":
        """Return the limits of ``--prune-older`` and ``--prune-to``."""
        return cls(
            None if age is None else parsed("--prune-older", "30d", age, SECONDS),
            None if size is None else int(parsed("--prune-to", "2GB", size, BYTES)),
        )

    @property
    def is_requested(self) -> bool:
        """Whether there is a limit."""
        return self.age is not None or self.size is not None


def parsed(option: str, example: str, text: str, units: dict[str, int]) -> float:
    """Return the value of a number with a unit; raise `UserError` for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in units:
        known = ", ".join(unit.upper() if units is BYTES else unit for unit in units if unit)
        raise UserError(
            f"{option} must be a number with one of the units {known}, as in {example}, "
            f"not {text!r}"
        )
    return float(match[1]) * units[match[2]]


def report_cache(pruning: Pruning) -> dict[str, Any]:
    """Prune the cache; return its contents and removals as they are written to JSON."""
    root = cache_directory()
    if root.exists() and not root.is_dir():
        raise UserError(f"the cache must be a folder, not the file {root}; set SPICA_CACHE")
    known = list(entries(root))
    removed, in_use, leftovers = [], [], []
    if pruning.is_requested and root.is_dir():
        leftovers = remove_leftovers(root)
        removed, in_use = prune(root, known, pruning)
    gone = set(removed)
    left = [entry for entry in known if entry not in gone]
    result: dict[str, Any] = {
        "folder": str(root),
        **totals(left),
        "kinds": {kind: totals(of_kind(left, kind)) for kind in kinds_of(left)},
        "unknown": [str(path) for path in unknown_files(root)],
    }
    if pruning.is_requested:
        result["removed"] = {
            **totals(removed),
            "kinds": {kind: totals(of_kind(removed, kind)) for kind in kinds_of(removed)},
            "in_use": len(in_use),
            "leftovers": len(leftovers),
        }
    return result


def prune(root: Path, known: list[Entry], pruning: Pruning) -> tuple[list[Entry], list[Entry]]:
    """Remove entries beyond the limits; return those removed, and those in use."""
    now, size = time.time(), sum(entry.size for entry in known)
    removed, in_use = [], []
    with working_folder(root) as trash:
        for entry in sorted(known, key=lambda entry: entry.used):
            too_old = pruning.age is not None and now - entry.used > pruning.age
            too_large = pruning.size is not None and size > pruning.size
            if not (too_old or too_large):
                continue
            if remove_entry(root, entry, trash):
                removed.append(entry)
                size -= entry.size
            else:
                in_use.append(entry)
    return removed, in_use


def kinds_of(known: list[Entry]) -> list[str]:
    """Return the kinds of entries, the largest in all first."""
    sizes: dict[str, int] = {}
    for entry in known:
        sizes[entry.kind] = sizes.get(entry.kind, 0) + entry.size
    return sorted(sizes, key=lambda kind: (-sizes[kind], kind))


def of_kind(known: list[Entry], kind: str) -> list[Entry]:
    """Return the entries of a kind."""
    return [entry for entry in known if entry.kind == kind]


def totals(known: list[Entry]) -> dict[str, Any]:
    """Return count, size in bytes, and times of the oldest and newest use of entries."""
    used = [entry.used for entry in known]
    return {
        "entries": len(known),
        "bytes": sum(entry.size for entry in known),
        "oldest_use": moment(min(used)) if used else None,
        "newest_use": moment(max(used)) if used else None,
    }


def moment(seconds: float) -> str:
    """Return a time in local time, to the minute."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "minutes")


def show_cache(result: dict[str, Any]) -> None:
    """Print the contents of the cache, and the removals."""
    columns = ("kind", "oldest use", "newest use")
    table = new_table(f"Cache {result['folder']}", *columns, numbers=("entries", "size, MB"))
    rows = [*result["kinds"].items(), ("total", result)]
    for kind, row in rows:
        uses = (row["oldest_use"] or "-", row["newest_use"] or "-")
        table.add_row(kind, *uses, f"{row['entries']:,}", megabytes(row["bytes"]))
    out = standard_output()
    out.print(table)
    if unknown := result["unknown"]:
        first = ", ".join(Path(path).name for path in unknown[:3])
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        out.print(f"Not of the cache, never removed: {first}{more}.", soft_wrap=True)
    if "removed" in result:
        out.print(removal(result["removed"]), soft_wrap=True)


def removal(removed: dict[str, Any]) -> str:
    """Return the removals in words."""
    kinds = ", ".join(f"{row['entries']:,} {kind}" for kind, row in removed["kinds"].items())
    words = f"Removed {removed['entries']:,} entries, {megabytes(removed['bytes'])} MB"
    words += f": {kinds}." if kinds else "."
    if removed["leftovers"]:
        words += f" Removed {removed['leftovers']:,} leftovers of killed builds."
    if removed["in_use"]:
        words += f" Kept {removed['in_use']:,} entries that processes use."
    return words


def megabytes(size: int) -> str:
    """Return a size in megabytes."""
    return f"{size / 1e6:,.1f}"
