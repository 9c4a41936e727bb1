"""Dumps of a run: contents of buffers and of DRAM as files of NumPy."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ..hw.base.errors import UserError
from .files import Draft

__all__ = ["opened", "parsed_dumps", "write_dump"]

SUFFIX = ".npy"


def parsed_dumps(texts: Sequence[str]) -> list[tuple[str, Path]]:
    """Return what each ``--dump`` names, and its file."""
    found = []
    for text in texts:
        what, equals, file = text.rpartition("=")
        if not (what and equals and file.endswith(SUFFIX)):
            raise UserError(
                f"--dump must be BUFFER=FILE{SUFFIX} or ADDRESS:BYTES=FILE{SUFFIX}, not {text!r}"
            )
        found.append((what, Path(file)))
    return found


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
