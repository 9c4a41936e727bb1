"""Cache of synthesis results, by a hash of all inputs."""

import functools
import gzip
import os
import pickle
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..hw.base.build_cache import cache_directory, digest

__all__ = ["cached", "source_key"]

#: Exceptions that a damaged entry may raise.
DAMAGED = (OSError, EOFError, ValueError, zlib.error, pickle.UnpicklingError, AttributeError)


def cached(kind: str, key: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute`, from the cache if present.

    Processes that compute the same entry write separate files and rename them, so a reader sees a
    complete entry or none. A damaged entry is computed again.
    """
    entry = cache_directory() / kind / f"{key}.gz"
    try:
        return pickle.loads(gzip.decompress(entry.read_bytes()))
    except DAMAGED:
        value = compute()
    entry.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=entry.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(gzip.compress(pickle.dumps(value), compresslevel=1))
    os.replace(draft, entry)
    return value


@functools.cache
def source_key(folder: Path) -> str:
    """Return a hash of the texts of all sources in a folder, whatever their paths."""
    return digest(sorted(path.read_text() for path in folder.rglob("*.py")))
