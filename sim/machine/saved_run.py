"""Checkpoint file of a run: its arguments and its state, verified before use.

The file consists of a line of text, a header of fixed size (format, bytes of the description, bytes
of the state, SHA-256 of everything else), the description as JSON, and the compressed state.
"""

import hashlib
import json
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import UserError
from .snapshot import Snapshot

__all__ = ["FORMAT", "SavedRun"]

MAGIC = b"spica saved run\n"
FORMAT = 2
HEAD = struct.Struct("<IQQ")
DIGEST_BYTES = hashlib.sha256().digest_size
START = len(MAGIC) + HEAD.size + DIGEST_BYTES
LEVEL = 1  # of the compression: DRAM is mostly zeros, so a higher level costs more than it saves


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """Checkpoint of a run.

    Attributes
    ----------
    arguments : dict
        Arguments of the run; a resumed run must have the same.
    command : dict or None
        Options of the command line that started the run, if any.
    snapshot : Snapshot

    """

    arguments: dict[str, Any]
    command: dict[str, Any] | None
    snapshot: Snapshot

    def write(self, path: Path) -> None:
        """Write the file atomically; an existing file is replaced."""
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
        """Return the checkpoint in a file; raise `UserError` if the file is invalid."""
        try:
            data = path.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UserError(f"cannot read checkpoint {path}: {reason}") from None
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
    """Return description and state of a file; raise `UserError` if it is invalid."""
    if not data.startswith(MAGIC):
        raise UserError(f"{path} is not a checkpoint of Spica")
    if len(data) < START:
        raise UserError(f"checkpoint {path} is incomplete: it ends after {len(data):,} bytes")
    head = data[len(MAGIC) : len(MAGIC) + HEAD.size]
    form, text_bytes, packed_bytes = HEAD.unpack(head)
    if form != FORMAT:
        raise UserError(
            f"a checkpoint must have format {FORMAT}, {path} has format {form}: save it again"
        )
    end = START + text_bytes + packed_bytes
    if len(data) < end:
        raise UserError(f"checkpoint {path} is incomplete: {len(data):,} of {end:,} bytes")
    text, packed = data[START : START + text_bytes], data[START + text_bytes :]
    if checksum(head, text, packed) != data[len(MAGIC) + HEAD.size : START]:
        raise UserError(f"checkpoint {path} is damaged: its checksum does not match")
    return text, packed
