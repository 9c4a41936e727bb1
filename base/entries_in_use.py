"""Use of cache entries: time of the last use, and a lock against removal by another process."""

import os
import threading
from collections import OrderedDict
from pathlib import Path

from .file_locks import acquire, is_at

__all__ = ["USE_FILE", "last_use", "use_entry"]

#: File in an entry: its time is that of the last use, and processes that use the entry lock it.
USE_FILE = ".used"
#: Entries that a process keeps locked, the last ones used; a step of a build needs a few.
HELD = 64

held: OrderedDict[Path, int] = OrderedDict()
held_lock = threading.Lock()


def use_entry(entry: Path) -> bool:
    """Record the use of an entry and protect it from removal; return False if it is absent.

    The protection ends with the process, or after its uses of `HELD` other entries.
    """
    try:
        file = os.open(entry / USE_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return entry.is_dir()  # in a cache that only others may write
    try:
        locked = acquire(file, shared=True)
        os.utime(entry / USE_FILE)
    except OSError:  # a file system without locks
        locked = True
    if not (locked and is_at(file, entry / USE_FILE)):
        os.close(file)
        return False  # about to be removed
    hold(entry, file)
    return True


def hold(entry: Path, file: int) -> None:
    """Keep a lock until the process has used `HELD` other entries."""
    with held_lock:
        if entry in held:
            os.close(held.pop(entry))
        held[entry] = file
        if len(held) > HELD:
            os.close(held.popitem(last=False)[1])


def last_use(entry: Path) -> float:
    """Return the time of the last use of an entry, of its creation if none is recorded."""
    try:
        return (entry / USE_FILE).lstat().st_mtime
    except OSError:
        return entry.lstat().st_mtime
