"""Progress callback of builds and runs."""

from typing import Protocol

__all__ = ["Progress"]


class Progress(Protocol):
    """Receiver of steps, called when a step begins and when a part of it is complete.

    Its arguments are a description of the step, the parts done, all parts, and the expected
    duration in seconds or None. All parts are 0 for a step of unknown length, such as a run.
    """

    def __call__(
        self, description: str, done: int, total: int, expected: float | None = None, /
    ) -> object: ...
