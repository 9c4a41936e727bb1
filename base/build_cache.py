"""Build cache: one directory per content hash, safe for several processes."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .entries_in_use import use_entry
from .entry_contents import is_whole, record_contents
from .errors import UserError
from .file_locks import exclusive
from .progress import Progress
from .working_folders import LOCK_SUFFIX, working_folder

__all__ = ["cache_directory", "cached", "digest", "full_disk", "scratch_folder"]


#: Bytes below which a disk counts as full.
LEAST_FREE = 16 << 20


def full_disk() -> str | None:
    """Return a sentence about a full disk of the cache, the likely reason of a tool's failure."""
    root = cache_directory()
    place = next(part for part in (root, *root.parents) if part.exists())
    if shutil.disk_usage(place).free >= LEAST_FREE:
        return None
    return f"the disk of {root} is full; free some space, or set SPICA_CACHE"


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


def cached(
    kind: str, key: str, build: Callable[[Path], None], progress: Progress | None = None
) -> Path:
    """Return the directory of ``kind-key``, filled by `build` if it does not exist yet.

    `build` works in a temporary directory that gets its name only when it is complete, so a
    killed build leaves nothing that looks finished. One process builds an entry; others wait for
    it, and one of them takes over if it is killed. An entry whose files are not those that were
    built, for example cut by a full disk, is built again.
    """
    root = cache_directory()
    final = root / f"{kind}-{key}"

    def is_ready() -> bool:
        return use_entry(final) and is_whole(final)

    if is_ready():
        return final

    def waiting(holder: str) -> None:
        if progress is not None and holder != str(os.getpid()):
            progress(f"waiting for process {holder}, which builds {kind}", 0, 1)

    try:
        root.mkdir(parents=True, exist_ok=True)
        with exclusive(root / f"{kind}-{key}{LOCK_SUFFIX}", waiting):
            if not is_ready():
                with working_folder(root) as working:
                    if final.exists():
                        os.replace(final, working.with_name("damaged"))
                    build(working)
                    record_contents(working)
                    place(working, final)
    except OSError as error:
        raise UserError(f"the cache {root} cannot be written: {error.strerror or error}") from error
    return final


def place(working: Path, final: Path) -> None:
    """Move a complete build to its place, unless another process without locks was faster."""
    try:
        os.replace(working, final)
    except OSError:
        if not final.is_dir():
            raise
    use_entry(final)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Provide a temporary folder, in the cache if that can be written.

    A folder there is removed by a later build if this process is killed.
    """
    root = cache_directory()
    with ExitStack() as stack:
        try:
            root.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(working_folder(root))
        except OSError:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spica-")))
        yield folder
