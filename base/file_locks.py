"""Locks of files between processes, which the system releases when a process dies."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and the first of several builders wins
    fcntl = None

__all__ = ["acquire", "exclusive", "is_at"]


@contextmanager
def exclusive(path: Path, waiting: Callable[[str], object] = lambda _: None) -> Iterator[None]:
    """Hold the lock file `path`, which exists only while it is held, or after its holder is killed.

    If the lock is busy, `waiting` receives the process number of its holder before the wait.
    """
    file = locked(path, waiting)
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # processes that wait for this file then open a new one
        os.close(file)


def locked(path: Path, waiting: Callable[[str], object]) -> int:
    """Return the descriptor of the lock file `path`, open and locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not acquire(file):
                waiting(os.pread(file, 20, 0).decode(errors="replace"))
                acquire(file, wait=True)
            if is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def acquire(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock a descriptor, alone or as one of several; return False if another lock excludes it.

    With `wait`, wait for the other lock instead.
    """
    if fcntl is None:
        return True
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(file: int, path: Path) -> bool:
    """Return whether a descriptor is that of the file which is now at `path`."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
