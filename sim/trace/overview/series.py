"""What a timeline consists of: tracks, and the series that are drawn in each."""

import enum
from dataclasses import dataclass

import numpy as np

from .cluster_records import ClusterRecords

__all__ = ["COLOURS", "Drawing", "Series", "Track"]

#: Colours as CSS has them, by what they stand for.
COLOURS = {
    "read": "hsl(210 65% 55%)",
    "write": "hsl(275 50% 60%)",
    "compute": "hsl(140 50% 48%)",
    "add": "hsl(170 45% 50%)",
    "drain": "hsl(290 45% 55%)",
    "busy": "hsl(210 20% 70%)",
    "held": "hsl(5 70% 58%)",
    "wait_a": "hsl(25 80% 58%)",
    "wait_weights": "hsl(45 80% 55%)",
    "wait_drain": "hsl(330 55% 60%)",
    "wait_revisit": "hsl(5 60% 60%)",
    "idle": "hsl(215 10% 82%)",
}


class Drawing(enum.IntEnum):
    """How a series is drawn."""

    STACK = 0  #: on top of those before it
    LINE = 1  #: below the others
    MARK = 2  #: by its intervals alone


@dataclass(frozen=True, kw_only=True)
class Series:
    """Something that happens in a track.

    Parameters
    ----------
    label : str
        What it is called.
    colour : str
        As CSS has it.
    signals : tuple of str
        Of the records, added up.
    less : str
        A signal that is taken off, or none.
    event_bytes : int
        Bytes that it moves when it happens once; 0 if it moves none.
    drawing : Drawing
        How it is drawn.

    """

    label: str
    colour: str
    signals: tuple[str, ...]
    less: str = ""
    event_bytes: int = 0
    drawing: Drawing = Drawing.STACK

    @property
    def names(self) -> set[str]:
        """The signals that it needs."""
        return {*self.signals, self.less} - {""}

    def sums(self, records: ClusterRecords) -> np.ndarray:
        """Return what it came to in each bin, as int64."""
        total = np.zeros(records.bins, np.int64)
        for name in self.signals:
            total += records.sums[name]
        return np.maximum(total - records.sums[self.less], 0) if self.less else total

    def intervals(self, records: ClusterRecords) -> np.ndarray:
        """Return the intervals in which it happened, of shape (n, 2), as far as they are kept."""
        kept = records.intervals if len(self.names) == 1 else {}
        return kept.get(self.signals[0], np.empty((0, 2), np.int64))


@dataclass(frozen=True, kw_only=True)
class Track:
    """What one engine does.

    Parameters
    ----------
    title : str
        Names the engine.
    series : tuple of Series
        What happens there; the first is what it is for.
    most : int
        How often all that is stacked can happen in one cycle together.

    """

    title: str
    series: tuple[Series, ...]
    most: int = 1
