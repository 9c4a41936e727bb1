"""Cache of small values: one compressed file per content hash, written by renaming.

The time of a file is that of its last use.
"""

import gzip
import os
import pickle
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from .build_cache import cache_directory
from .errors import UserError
from .working_folders import working_file

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
    """Return the value of an entry, and record its use; None if it is missing or damaged."""
    entry = entry_path(kind, key)
    try:
        value = pickle.loads(gzip.decompress(entry.read_bytes()))
    except DAMAGED:
        return None
    with suppress(OSError):  # a cache that only others may write
        os.utime(entry)
    return value


def save_value(kind: str, key: str, value: Any) -> None:
    """Write an entry.

    Processes that write the same entry write separate files and rename them. A reader, also after
    a killed writer, finds a complete entry or none. The file of a killed writer is removed by a
    later build.
    """
    entry = entry_path(kind, key)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with working_file(cache_directory()) as draft:
            draft.write_bytes(gzip.compress(pickle.dumps(value), compresslevel=1))
            os.replace(draft, entry)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"the cache {cache_directory()} cannot be written: {reason}") from error
