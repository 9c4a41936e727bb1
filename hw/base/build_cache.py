"""Build cache: one directory per content hash, safe for several processes."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path

from .errors import UserError

try:
    import fcntl
except ImportError:  # Windows: two processes may build the same thing, the first one wins
    fcntl = None

__all__ = ["cache_directory", "cached", "digest"]

STALE_SECONDS = 24 * 3600


def cache_directory() -> Path:
    """Return the cache directory: ``$SPICA_CACHE`` or ``~/.cache/spica``."""
    chosen = os.environ.get("SPICA_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "spica"


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a hash of a sequence of texts; the boundaries between them count."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:24]


@contextmanager
def exclusive(path: Path):
    """Hold the lock file `path`; the system releases it if the process dies."""
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """Return the directory of ``kind-key``, filled by `build` if it does not exist yet.

    `build` works in a temporary directory that gets its name only when it is complete, so a
    killed build leaves nothing that looks finished.
    """
    root = cache_directory()
    final = root / f"{kind}-{key}"
    if final.is_dir():
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with exclusive(root / f"{kind}-{key}.lock"):
            if final.is_dir():
                return final
            remove_stale(root)
            working = Path(tempfile.mkdtemp(prefix="building-", dir=root))
            try:
                build(working)
                os.replace(working, final)
            finally:
                shutil.rmtree(working, ignore_errors=True)
    except OSError as error:
        raise UserError(f"the cache {root} cannot be written: {error.strerror or error}") from error
    return final


def remove_stale(root: Path) -> None:
    """Remove the working directories of builds that were killed long ago."""
    for path in root.glob("building-*"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue
