"""Strided region of memory that a transfer or a compute accesses."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Region"]


@dataclass(frozen=True)
class Region:
    """Region of `rows` rows of `width` bytes, `pitch` bytes between the starts of rows."""

    start: int
    pitch: int
    rows: int
    width: int

    def __str__(self) -> str:
        return f"0x{self.start:08X} to 0x{self.end:08X}"

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return self.start + (self.rows - 1) * self.pitch + self.width

    @property
    def starts(self) -> np.ndarray:
        """Start address of each row."""
        return self.start + np.arange(self.rows) * self.pitch

    @property
    def is_dense(self) -> bool:
        """Whether the rows have no gaps between them."""
        return self.rows == 1 or self.pitch <= self.width

    def overlaps(self, other: "Region") -> bool:
        """Return whether the two regions overlap."""
        if self.end <= other.start or other.end <= self.start:
            return False
        if self.is_dense and other.is_dense:
            return True
        # For each row here, find the first row there that ends after its start.
        starts = other.starts
        first = np.searchsorted(starts, self.starts - other.width, side="right")
        inside = first < other.rows
        return bool(np.any(starts[first[inside]] < self.starts[inside] + self.width))
