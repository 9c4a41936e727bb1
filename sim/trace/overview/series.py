"""Elements of a timeline: tracks, and the series drawn in each."""

import enum
from dataclasses import dataclass

import numpy as np

from ....hw.cluster.counters import Counter
from ..palette import COLOURS
from .activity_records import ClusterRecords

__all__ = ["Drawing", "Series", "Track", "counted"]


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
    meaning : str
        Quantity that is shown.
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
    meaning: str
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
        intervals = records.intervals if len(self.names) == 1 else {}
        return intervals.get(self.signals[0], np.empty((0, 2), np.int64))


@dataclass(frozen=True, kw_only=True)
class Track:
    """Track of one unit in a timeline.

    Parameters
    ----------
    title : str
        Name of the unit.
    manual : str
        Page and section of the manual that explain the unit.
    series : tuple of Series
        Series of the track; the first is the main one.
    most : int
        Maximum sum of the stacked series in one cycle.

    """

    title: str
    manual: str
    series: tuple[Series, ...]
    most: int = 1


def counted(
    counter: Counter,
    label: str,
    colour: str,
    *,
    drawing: Drawing = Drawing.STACK,
    event_bytes: int = 0,
) -> Series:
    """Return the series of a counter; `colour` is a name of `palette.COLOURS`."""
    return Series(
        label=label,
        colour=COLOURS[colour],
        signals=(counter.name,),
        meaning=counter.meaning,
        event_bytes=event_bytes,
        drawing=drawing,
    )
