"""A saved run as a file: what was run, and the state; nothing of it is used before it is checked.

The file is a line, a head of fixed size (format, bytes of the description, bytes of the state, and
the SHA-256 of everything else), the description as JSON, and the state, compressed.
"""

import hashlib
import json
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...hw.base.errors import UserError
from .snapshot import Snapshot

__all__ = ["FORMAT", "SavedRun"]

MAGIC = b"spica saved run\n"
FORMAT = 1
HEAD = struct.Struct("<IQQ")
DIGEST_BYTES = hashlib.sha256().digest_size
START = len(MAGIC) + HEAD.size + DIGEST_BYTES
LEVEL = 1  # of the compression: DRAM is mostly zeros, and more takes longer than it saves


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A run that can go on.

    Attributes
    ----------
    arguments : dict
        What was run: a run that goes on must have been given the same.
    command : dict or None
        The command line's options, if it was one.
    snapshot : Snapshot

    """

    arguments: dict[str, Any]
    command: dict[str, Any] | None
    snapshot: Snapshot

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all; one of that name is replaced."""
        snapshot = self.snapshot
        states = (snapshot.state, snapshot.model)
        description = {
            "arguments": self.arguments,
            "command": self.command,
            **{name: getattr(snapshot, name) for name in ("identity", "machine", "cycle", "facts")},
            "bytes": [len(state) for state in states],
        }
        text = json.dumps(description).encode()
        packed = zlib.compress(b"".join(states), LEVEL)
        head = HEAD.pack(FORMAT, len(text), len(packed))
        draft = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with draft.open("wb") as file:
                for part in (MAGIC, head, checksum(head, text, packed), text, packed):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError as error:
            raise UserError(
                f"cannot write {path}: {(error.strerror or str(error)).lower()}"
            ) from None
        finally:
            draft.unlink(missing_ok=True)

    @classmethod
    def read(cls, path: Path) -> "SavedRun":
        """Return the run in a file, or say what is wrong with it."""
        try:
            data = path.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UserError(f"a saved run must be readable, and {path}: {reason}") from None
        text, packed = parts(path, data)
        described = json.loads(text)
        states = zlib.decompress(packed)
        first, second = described.pop("bytes")
        assert len(states) == first + second, "the checksum is right, so the lengths are"
        arguments, command = described.pop("arguments"), described.pop("command")
        snapshot = Snapshot(**described, state=states[:first], model=states[first:])
        return cls(arguments=arguments, command=command, snapshot=snapshot)


def checksum(head: bytes, text: bytes, packed: bytes) -> bytes:
    """Return the checksum of a file's parts."""
    return hashlib.sha256(head + text + packed).digest()


def parts(path: Path, data: bytes) -> tuple[bytes, bytes]:
    """Return description and state of a file, if it is whole."""
    if not data.startswith(MAGIC):
        raise UserError(f"a saved run must be a file that Spica saved, and {path} is none")
    if len(data) < START:
        raise UserError(f"a saved run must be whole, and {path} is cut after {len(data):,} bytes")
    head = data[len(MAGIC) : len(MAGIC) + HEAD.size]
    form, text_bytes, packed_bytes = HEAD.unpack(head)
    if form != FORMAT:
        raise UserError(
            f"a saved run must be of format {FORMAT}, and {path} is of {form}: save it again"
        )
    end = START + text_bytes + packed_bytes
    if len(data) < end:
        raise UserError(f"a saved run must be whole, and {path} has {len(data):,} of {end:,} bytes")
    text, packed = data[START : START + text_bytes], data[START + text_bytes :]
    if checksum(head, text, packed) != data[len(MAGIC) + HEAD.size : START]:
        raise UserError(f"a saved run must be as it was written, and {path} has been damaged")
    return text, packed
