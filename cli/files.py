"""Output files that appear complete or not at all."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ..base.errors import UserError
from ..sim.run.dumps import DUMP_SUFFIX

__all__ = [
    "Draft",
    "make_folder",
    "opened",
    "parsed_dumps",
    "require_suffix",
    "write_dump",
    "write_together",
]

#: Places of outputs that are being written.
OPEN: set[Path] = set()


class Draft:
    """Output file: written beside its place and renamed when it is complete.

    It is opened before the work, so that an unwritable place is refused at once. As a context
    manager it leaves no file behind unless `commit` was called.

    Parameters
    ----------
    path : str or Path
        The place. Missing folders above it are created, with a note. A device or pipe is written
        directly.

    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if self.path.is_dir():
            raise UserError(f"an output must be a file, not the folder {self.path}")
        above = next(folder for folder in self.path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise UserError(f"cannot write {self.path}: {above} is not a folder")
        self.special = self.path.exists() and not self.path.is_file()
        # Writers may select a format by the suffix.
        name = f".{self.path.stem}.{os.getpid()}.draft{self.path.suffix}"
        draft = self.path.with_name(name)
        self.draft = self.path if self.special else draft
        self.place = self.path.resolve()
        if self.place in OPEN and not self.special:
            raise UserError(f"each output must have a file of its own, not two of them {self.path}")
        try:
            make_folder(self.path.parent)
            if not self.special:
                self.draft.touch()
                if self.path.exists() and not os.access(self.path, os.W_OK):
                    self.draft.unlink()
                    raise PermissionError(None, "the file is read-only")
        except OSError as error:
            raise _unwritable(self.path, error) from None
        OPEN.add(self.place)

    def write(self, content: str | bytes):
        """Write text, or bytes, to the draft and flush it to the disk."""
        try:
            with self.draft.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                if not self.special:
                    os.fsync(file.fileno())
        except OSError as error:
            self.discard()
            raise _unwritable(self.path, error) from None

    def commit(self):
        """Rename the draft to its place."""
        if not self.special:
            try:
                os.replace(self.draft, self.path)
            except OSError as error:
                self.discard()
                raise _unwritable(self.path, error) from None

    def discard(self):
        """Remove the draft."""
        OPEN.discard(self.place)
        if not self.special:
            self.draft.unlink(missing_ok=True)

    def __enter__(self) -> "Draft":
        return self

    def __exit__(self, *_):
        self.discard()


def require_suffix(option: str, path: Path | None, suffixes: Sequence[str]):
    """Raise unless the file of an option, if any, has one of some suffixes."""
    if path is not None and path.suffix not in suffixes:
        known = " or ".join(suffixes)
        raise UserError(f"{option} must be a file with suffix {known}, not {path}")


def write_together(texts: Sequence[tuple[Path, str]]):
    """Write all files of `texts` completely before the first is renamed to its place."""
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


def make_folder(folder: Path):
    """Create a folder and those above it, and say so; it may exist."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"note: created the folder {folder}", file=sys.stderr)


def _unwritable(path: Path, error: OSError) -> UserError:
    reason = (error.strerror or str(error)).lower()
    return UserError(f"cannot write {path}: {reason}")


def parsed_dumps(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Return what each ``--dump`` names, and its file."""
    dumps = []
    for text in texts:
        what, equals, file = text.rpartition("=")
        if not (what and equals and file.endswith(DUMP_SUFFIX)):
            raise UserError(
                f"--dump must be BUFFER=FILE{DUMP_SUFFIX} or ADDRESS:BYTES=FILE{DUMP_SUFFIX}, "
                f"not {text!r}"
            )
        dumps.append((what, Path(file)))
    return dumps


@contextmanager
def opened(dumps: Sequence[tuple[str, Path]]) -> Iterator[list[tuple[str, Draft]]]:
    """Provide the drafts of dumps, opened before the run."""
    with ExitStack() as stack:
        yield [(what, stack.enter_context(Draft(path))) for what, path in dumps]


def write_dump(draft: Draft, data: np.ndarray) -> None:
    """Write an array to its place."""
    with draft.draft.open("wb") as file:
        np.save(file, data)
    draft.commit()
