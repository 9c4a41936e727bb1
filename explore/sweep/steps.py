"""Steps of work in other processes of this machine, by files in a folder that the sweep reads."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

__all__ = ["StepFile", "current_steps"]

#: Steps that are named at a time.
SHOWN = 3


@dataclass(frozen=True)
class StepFile:
    """Progress callback of a piece of work: keeps its current step in a file of its process.

    Parameters
    ----------
    folder : str
        Folder of the files.
    name : str
        Name of the work.

    """

    folder: str
    name: str
    #: Steps take longer beside others: their durations are not remembered.
    is_background: ClassVar[bool] = True

    @property
    def path(self) -> Path:
        """File of this process."""
        return Path(self.folder, str(os.getpid()))

    def __call__(self, description: str, done: int, total: int, expected: float | None = None, /):
        self.path.write_text(f"{self.name}: {description}", encoding="utf-8")


def current_steps(folder: str) -> str:
    """Return the steps that are under way, in one line; empty without any."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())]
    steps = [text for text in texts if text]
    more = [f"{len(steps) - SHOWN} more"] if len(steps) > SHOWN else []
    return "; ".join([*steps[:SHOWN], *more])
