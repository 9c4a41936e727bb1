"""Elements of a timeline: tracks, and the series drawn in each."""

import enum
from dataclasses import dataclass

import numpy as np

from .activity_records import ClusterRecords

__all__ = ["COLOURS", "Drawing", "Series", "Track"]

#: CSS colours by meaning.
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
    """Drawing style of a series."""

    STACK = 0  #: area stacked on the series before it
    LINE = 1  #: line behind the areas
    MARK = 2  #: intervals only


@dataclass(frozen=True, kw_only=True)
class Series:
    """Series of a track: one kind of event.

    Parameters
    ----------
    label : str
        Name in the legend.
    colour : str
        CSS colour.
    signals : tuple of str
        Recorded signals that are added up.
    less : str
        Recorded signal to subtract, or "".
    event_bytes : int
        Bytes moved per event; 0 if it moves none.
    drawing : Drawing
        Drawing style.

    """

    label: str
    colour: str
    signals: tuple[str, ...]
    less: str = ""
    event_bytes: int = 0
    drawing: Drawing = Drawing.STACK

    @property
    def names(self) -> set[str]:
        """Names of all signals that it uses."""
        return {*self.signals, self.less} - {""}

    def sums(self, records: ClusterRecords) -> np.ndarray:
        """Return the sum in each bin, as int64."""
        total = np.zeros(records.bins, np.int64)
        for name in self.signals:
            total += records.sums[name]
        return np.maximum(total - records.sums[self.less], 0) if self.less else total

    def intervals(self, records: ClusterRecords) -> np.ndarray:
        """Return the active intervals, of shape (n, 2), if they are recorded."""
        kept = records.intervals if len(self.names) == 1 else {}
        return kept.get(self.signals[0], np.empty((0, 2), np.int64))


@dataclass(frozen=True, kw_only=True)
class Track:
    """Track of one unit in a timeline.

    Parameters
    ----------
    title : str
        Name of the unit.
    series : tuple of Series
        Series of the track; the first is the main one.
    most : int
        Maximum sum of the stacked series in one cycle.

    """

    title: str
    series: tuple[Series, ...]
    most: int = 1
