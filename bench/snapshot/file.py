"""File of a snapshot: one JSON object with the entry of every case by its name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from spica.base.errors import UserError
from spica.cli.files import Draft
from spica.explore.work.record import ERROR, Record
from spica.sim.engine.versions import versions

from .cases import Case
from .source import tree_key

__all__ = ["Snapshot", "opened", "read"]

SCHEMA = "spica.snapshot"
VERSION = 1
#: Keys of a file beside schema and version.
PARTS = ("source", "versions", "entries")
#: Seconds between two writes: a larger file takes as long to write as a short run.
PAUSE = 5.0


@dataclass(kw_only=True)
class Snapshot:
    """Entries of a snapshot in a file that is always whole.

    Parameters
    ----------
    path : Path
        The file.
    source : str
        Hash of the sources and tools that determine the entries.
    versions : mapping of str to str
        Versions of the tools, for people.
    entries : dict
        Entry of each case by its name: ``preset``, ``kernel``, ``key``, ``status``, ``reason``,
        ``seconds`` and ``facts``.

    """

    path: Path
    source: str
    versions: Mapping[str, str]
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: float = -PAUSE

    def has(self, case: Case) -> bool:
        """Return whether the entry of a case is there; that of an unexpected error is not."""
        entry = self.entries.get(case.name)
        return entry is not None and entry["key"] == case.key and entry["status"] != ERROR

    def add(self, case: Case, record: Record, seconds: float) -> None:
        """Add the entry of a case; write the file, unless that was a moment ago."""
        self.entries[case.name] = {
            "preset": case.preset,
            "kernel": getattr(case, "kernel", None),
            "key": case.key,
            "status": record.status,
            "reason": record.reason,
            "seconds": round(seconds, 1),
            "facts": record.result or {},
        }
        if monotonic() - self.written >= PAUSE:
            self.write()

    def write(self) -> None:
        """Write the file."""
        content = {"schema": SCHEMA, "version": VERSION}
        content |= {name: getattr(self, name) for name in PARTS}
        with Draft(self.path) as draft:
            draft.write(json.dumps(content, indent=1) + "\n")
            draft.commit()
        self.written = monotonic()


def opened(path: Path, *, replace: bool) -> Snapshot:
    """Return the snapshot of this tree in a file: a new one, or the one to continue.

    Parameters
    ----------
    path : Path
        The file.
    replace : bool
        Whether to replace a snapshot of other sources or tools, which is refused otherwise.

    """
    if path.exists():
        snapshot = read(path)
        if snapshot.source == tree_key():
            return snapshot
        if not replace:
            raise UserError(
                f"{path} is a snapshot of other sources or tools, whose entries are not those of "
                "this tree; give another file, or --replace"
            )
    return Snapshot(path=path, source=tree_key(), versions=versions())


def read(path: Path) -> Snapshot:
    """Return the snapshot in a file; raise `UserError` if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise UserError(f"a snapshot must be a JSON file, and {path} is none") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise UserError(f"a snapshot must have the schema {SCHEMA}, and {path} has another")
    if (version := content.get("version")) != VERSION:
        raise UserError(
            f"a snapshot must have version {VERSION}, and {path} has {version}; take it again"
        )
    parts = {name: content[name] for name in PARTS if name in content}
    if len(parts) < len(PARTS):
        raise UserError(
            f"a snapshot must have {PARTS[0]}, {PARTS[1]} and {PARTS[2]}, and {path} lacks one; "
            "take it again"
        )
    return Snapshot(path=path, **parts)
