"""Temporary folders and files in the cache: locked while in use.

Those of a killed process are removed later.
"""

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .file_locks import acquire, exclusive, is_at

__all__ = ["LOCK_SUFFIX", "PREFIX", "remove_leftovers", "working_file", "working_folder"]

PREFIX = "building-"
LOCK_SUFFIX = ".lock"
#: File in a working folder that its process has locked.
OWNER = "lock"
#: Age of a folder without that file from which it counts as a leftover.
STALE_SECONDS = 24 * 3600


@contextmanager
def working_folder(root: Path) -> Iterator[Path]:
    """Provide an empty folder in `root` for the time of the context.

    Leftovers of killed processes are removed first.
    """
    folder = root / f"{PREFIX}{uuid.uuid4().hex}"
    owner = None
    try:
        with cleaning(root):  # nothing removes the folder before its file is locked
            remove_leftovers_now(root)
            folder.mkdir(mode=0o700)
            owner = os.open(folder / OWNER, os.O_RDWR | os.O_CREAT, 0o666)
            acquire(owner)
        content = folder / "content"
        content.mkdir()
        yield content
    finally:
        try:
            remove_folder(folder)
        finally:
            remove_folder(folder)  # a signal may have ended the first removal
        if owner is not None:
            os.close(owner)


@contextmanager
def working_file(root: Path) -> Iterator[Path]:
    """Provide an empty file in `root`, to be renamed, or removed at the end of the context."""
    while True:
        owner, name = tempfile.mkstemp(prefix=PREFIX, dir=root)
        path = Path(name)
        if acquire(owner) and is_at(owner, path):
            break
        os.close(owner)  # taken for a leftover before it was locked
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(owner)


def remove_leftovers(root: Path) -> list[Path]:
    """Remove working folders, files and locks of killed processes; return their former places."""
    with cleaning(root):
        return remove_leftovers_now(root)


def cleaning(root: Path):
    """Return the lock under which working folders are created and leftovers removed."""
    return exclusive(root / f"working{LOCK_SUFFIX}")


def remove_leftovers_now(root: Path) -> list[Path]:
    """Remove leftovers; the caller holds the lock of `cleaning`."""
    removed = []
    for path in root.glob(f"{PREFIX}*"):
        if path.is_symlink():
            continue
        if path.is_file() and remove_lock(path):
            removed.append(path)
        elif path.is_dir() and is_leftover(path):
            # Compilers that outlive their process no longer find the folder.
            moved = path.with_name(f"{path.name}-")
            with suppress(OSError):
                os.replace(path, moved)
                remove_folder(moved)
                removed.append(path)
    for path in root.glob(f"*-*{LOCK_SUFFIX}"):
        if remove_lock(path):
            removed.append(path)
    return removed


def is_leftover(folder: Path) -> bool:
    """Return whether the process of a working folder has ended; the lock of `cleaning` is held."""
    try:
        owner = os.open(folder / OWNER, os.O_RDWR)
    except OSError:
        with suppress(OSError):
            # An empty one is that of a process killed while it created or removed the folder.
            is_old = time.time() - folder.stat().st_mtime > STALE_SECONDS
            return is_old or not any(folder.iterdir())
        return False
    try:
        return acquire(owner)
    except OSError:
        return False
    finally:
        os.close(owner)


def remove_folder(folder: Path) -> None:
    """Remove a working folder, the file of its owner last, so that a rest remains recognisable."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name != OWNER:
                remove(path)
        (folder / OWNER).unlink(missing_ok=True)
        folder.rmdir()


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its contents."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_lock(path: Path) -> bool:
    """Remove a file that no process has locked; return whether it was removed."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        if not (acquire(file) and is_at(file, path)):
            return False
        path.unlink()
        return True
    except OSError:
        return False
    finally:
        os.close(file)
