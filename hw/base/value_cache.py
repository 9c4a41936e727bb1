"""Cache of small values: one compressed file per content hash, written by renaming."""

import gzip
import os
import pickle
import tempfile
import zlib
from pathlib import Path
from typing import Any

from .build_cache import cache_directory
from .errors import UserError

__all__ = ["load_value", "save_value"]

#: Exceptions that a missing or damaged entry may raise.
DAMAGED = (
    *(OSError, EOFError, ValueError, zlib.error, pickle.UnpicklingError),
    *(AttributeError, ImportError, IndexError, KeyError, TypeError),
)


def entry_path(kind: str, key: str) -> Path:
    """Return the file of an entry; each kind has its own folder."""
    return cache_directory() / kind / f"{key}.gz"


def load_value(kind: str, key: str) -> Any:
    """Return the value of an entry; None if it is missing or damaged."""
    try:
        return pickle.loads(gzip.decompress(entry_path(kind, key).read_bytes()))
    except DAMAGED:
        return None


def save_value(kind: str, key: str, value: Any) -> None:
    """Write an entry.

    Processes that write the same entry write separate files and rename them. A reader, also after
    a killed writer, finds a complete entry or none.
    """
    entry = entry_path(kind, key)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=entry.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(gzip.compress(pickle.dumps(value), compresslevel=1))
            os.replace(draft, entry)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"the cache {cache_directory()} cannot be written: {reason}") from error
