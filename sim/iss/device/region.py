"""Rows of bytes that a transfer or a compute touches."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Region"]


@dataclass(frozen=True)
class Region:
    """`rows` rows of `width` bytes, `pitch` bytes from the start of one to that of the next."""

    start: int
    pitch: int
    rows: int
    width: int

    def __str__(self) -> str:
        return f"0x{self.start:08X} to 0x{self.end:08X}"

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.start + (self.rows - 1) * self.pitch + self.width

    @property
    def starts(self) -> np.ndarray:
        """Where each row begins."""
        return self.start + np.arange(self.rows) * self.pitch

    @property
    def is_dense(self) -> bool:
        """Whether no byte between first and last is left out."""
        return self.rows == 1 or self.pitch <= self.width

    def meets(self, other: "Region") -> bool:
        """Return whether a byte belongs to both."""
        if self.end <= other.start or other.end <= self.start:
            return False
        if self.is_dense and other.is_dense:
            return True
        # Of each row here, the first row there to end behind its start must begin behind its end.
        starts = other.starts
        first = np.searchsorted(starts, self.starts - other.width, side="right")
        inside = first < other.rows
        return bool(np.any(starts[first[inside]] < self.starts[inside] + self.width))
