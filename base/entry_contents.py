"""Record of the files of a cache entry: sizes and checksums, by which damage is found."""

import json
import zlib
from pathlib import Path

__all__ = ["is_whole", "record_contents"]

RECORD = ".contents"
#: Bytes read at a time.
CHUNK = 1 << 20


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    state = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            state = zlib.crc32(chunk, state)
    return state


def record_contents(entry: Path) -> None:
    """Record every file of a complete entry."""
    files = sorted(path for path in entry.rglob("*") if path.is_file())
    record = {
        path.relative_to(entry).as_posix(): [path.stat().st_size, checksum(path)] for path in files
    }
    (entry / RECORD).write_text(json.dumps(record))


def is_whole(entry: Path) -> bool:
    """Return whether every file of an entry is as it was recorded."""
    try:
        recorded = json.loads((entry / RECORD).read_text())
        return all(
            (entry / name).stat().st_size == size and checksum(entry / name) == expected
            for name, (size, expected) in recorded.items()
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return False
