"""Records of finished work in the build cache, by the key of their content."""

import json
import shutil
from pathlib import Path

from ...base.build_cache import cache_directory, cached
from ...base.entries_in_use import use_entry
from ..work.record import Record
from ..work.work import Work

__all__ = ["load", "save"]

FILE = "record.json"


def load(work: Work) -> Record | None:
    """Return the stored record of a piece of work; None if there is none.

    A damaged record is removed.
    """
    folder = cache_directory() / f"{work.kind}-{work.key}"
    if not use_entry(folder):
        return None
    try:
        return Record(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        shutil.rmtree(folder, ignore_errors=True)
        return None


def save(work: Work, record: Record):
    """Store the record of a piece of work; it appears complete or not at all."""

    def build(folder: Path):
        text = json.dumps(record.as_dict(), allow_nan=False)
        (folder / FILE).write_text(text, encoding="utf-8")

    cached(work.kind, work.key, build)
