"""Files that appear whole under their names, or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..hw.base.errors import UserError

__all__ = ["Draft", "write_together"]


class Draft:
    """A file written beside its place and renamed when it is complete.

    Opened before the work whose result it takes, so that a place nobody can write to is refused
    at once. Used as a context manager, it leaves nothing behind unless `commit` was called.

    Parameters
    ----------
    path : str or Path
        The place. Folders above it are made. A device or a pipe is written to as it is.

    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if self.path.is_dir():
            raise UserError(f"an output must be a file, and {self.path} is a folder")
        above = next(folder for folder in self.path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise UserError(f"cannot write {self.path}: {above} is not a folder")
        self.special = self.path.exists() and not self.path.is_file()
        # Whoever writes it may go by the suffix.
        name = f".{self.path.stem}.{os.getpid()}.draft{self.path.suffix}"
        draft = self.path.with_name(name)
        self.draft = self.path if self.special else draft
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.special:
                self.draft.touch()
                if self.path.exists() and not os.access(self.path, os.W_OK):
                    self.draft.unlink()
                    raise PermissionError(None, "the file is read-only")
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def write(self, text: str):
        """Put `text` into the draft, down to the disk."""
        try:
            with self.draft.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                if not self.special:
                    os.fsync(file.fileno())
        except OSError as error:
            self.discard()
            raise _unwritable(self.path, error) from None

    def commit(self):
        """Give the file its name."""
        if not self.special:
            try:
                os.replace(self.draft, self.path)
            except OSError as error:
                self.discard()
                raise _unwritable(self.path, error) from None

    def discard(self):
        """Leave nothing behind."""
        if not self.special:
            self.draft.unlink(missing_ok=True)

    def __enter__(self) -> "Draft":
        return self

    def __exit__(self, *_):
        self.discard()


def write_together(texts: Sequence[tuple[Path, str]]):
    """Write every file of `texts` in full before the first takes its name."""
    drafts: list[Draft] = []
    try:
        for path, text in texts:
            drafts.append(Draft(path))
            drafts[-1].write(text)
        for draft in drafts:
            draft.commit()
    finally:
        for draft in drafts:
            draft.discard()


def _unwritable(path: Path, error: OSError) -> UserError:
    reason = (error.strerror or str(error)).lower()
    return UserError(f"cannot write {path}: {reason}")
