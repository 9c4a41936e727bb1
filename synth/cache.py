"""Cache of synthesis results, by a hash of all inputs."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.build_cache import digest
from ..base.value_cache import load_value, save_value

__all__ = ["cached", "source_key"]


def cached(kind: str, key: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute`, from the cache if present; it must not be None."""
    value = load_value(kind, key)
    if value is None:
        value = compute()
        save_value(kind, key, value)
    return value


@functools.cache
def source_key(folder: Path) -> str:
    """Return a hash of the texts of all sources in a folder, whatever their paths."""
    return digest(sorted(path.read_text() for path in folder.rglob("*.py")))
