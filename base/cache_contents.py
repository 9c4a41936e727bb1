"""Contents of the build cache: entries by kind, sizes and last uses; removal of old entries."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .entries_in_use import USE_FILE, last_use
from .file_locks import acquire, exclusive
from .working_folders import LOCK_SUFFIX, PREFIX

__all__ = ["Entry", "entries", "remove_entry", "size_of", "unknown_files"]

#: Names of entries that are folders, and of those that are files in the folder of their kind.
FOLDER_ENTRY = re.compile(r"([a-z]\w*)(-.+)?-[0-9a-f]{24}")
FILE_ENTRY = re.compile(r"[0-9a-f]{24}\.gz")
#: Names of other files and folders of the cache.
OTHERS = re.compile(rf"{PREFIX}.*|.*{re.escape(LOCK_SUFFIX)}|durations\.(json|draft)")


@dataclass(frozen=True)
class Entry:
    """Result in the cache: a folder of `cached`, or a file of the cache of values.

    Attributes
    ----------
    path : Path
        Place of the entry.
    kind : str
        Kind of the result, for example ``model``.
    size : int
        Size in bytes.
    used : float
        Time of the last use, in seconds since 1970.

    """

    path: Path
    kind: str
    size: int
    used: float


def entries(root: Path) -> Iterator[Entry]:
    """Yield the entries of a cache; entries that another process removes meanwhile are left out."""
    for path in children(root):
        if not is_folder(path):
            continue
        try:
            if match := FOLDER_ENTRY.fullmatch(path.name):
                yield Entry(path, match[1], size_of(path), last_use(path))
                continue
        except OSError:
            continue
        for file in children(path):
            if is_value(file):
                try:
                    status = file.stat()
                except OSError:
                    continue
                yield Entry(file, path.name, status.st_size, status.st_mtime)


def unknown_files(root: Path) -> Iterator[Path]:
    """Yield files, folders and links in a cache that are none of its own."""
    for path in children(root):
        if path.is_symlink():
            yield path
        elif path.is_dir():
            if FOLDER_ENTRY.fullmatch(path.name) or path.name.startswith(PREFIX):
                continue
            files = children(path)
            others = [file for file in files if not is_value(file)]
            if len(others) == len(files):
                yield from [path] if files else []  # a kind of which every entry was removed
            else:
                yield from others
        elif not OTHERS.fullmatch(path.name):
            yield path


def remove_entry(root: Path, entry: Entry, trash: Path) -> bool:
    """Remove an entry, a folder into `trash`; return False if a process uses it."""
    if FILE_ENTRY.fullmatch(entry.path.name):
        entry.path.unlink(missing_ok=True)  # a reader has read all of it, or finds nothing
        return True
    with exclusive(root / f"{entry.path.name}{LOCK_SUFFIX}"):
        try:
            use = os.open(entry.path / USE_FILE, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            return True  # another process has removed it
        try:
            if not acquire(use):
                return False
            os.replace(entry.path, trash / entry.path.name)
        finally:
            os.close(use)
    return True


def children(folder: Path) -> list[Path]:
    """Return the sorted contents of a folder, which may be absent."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def is_value(path: Path) -> bool:
    """Return whether a path is an entry of the cache of values."""
    return FILE_ENTRY.fullmatch(path.name) is not None and not path.is_symlink()


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder and no link."""
    return path.is_dir() and not path.is_symlink()


def size_of(folder: Path) -> int:
    """Return the size in bytes of the files in a folder; links are not followed.

    Files and folders that other processes remove meanwhile do not count.
    """
    return sum(
        size_of_file(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names
    )


def size_of_file(path: Path) -> int:
    """Return the size in bytes of a file, or of a link itself; 0 if there is none any more."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
