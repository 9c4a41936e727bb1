"""Timeline of a cluster as an HTML page that shows a whole run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....hw.config import MachineConfig
from ..page import filled
from .activity_records import ClusterRecords
from .tracks import Series, Track, cluster_tracks

__all__ = ["overview_data", "overview_page"]


def overview_page(
    records: ClusterRecords, config: MachineConfig, title: str, marks: Mapping[str, int]
) -> str:
    """Return the page: a track per unit, with its activity in bins of cycles.

    Parameters
    ----------
    records : ClusterRecords
        Records of the signals of `cluster_signals`.
    config : MachineConfig
        Config of the machine.
    title : str
        Title of the page: what ran.
    marks : mapping of str to int
        Named cycles.

    """
    return filled("overview", title, overview_data(records, config, marks))


def overview_data(
    records: ClusterRecords, config: MachineConfig, marks: Mapping[str, int]
) -> dict[str, Any]:
    """Return the data of the page, read by `tracksOf` of the script."""
    return {
        "first": records.first,
        "end": records.end,
        "bin": records.bin_cycles,
        "marks": sorted((cycle, name) for name, cycle in marks.items()),
        "tracks": [track_data(track, records) for track in cluster_tracks(config, records)],
    }


def track_data(track: Track, records: ClusterRecords) -> dict[str, Any]:
    """Return the page data of a track."""
    return {
        "title": track.title,
        "manual": track.manual,
        "most": track.most,
        "series": [series_data(series, records) for series in track.series],
    }


def series_data(series: Series, records: ClusterRecords) -> dict[str, Any]:
    """Return the page data of a series."""
    intervals = series.intervals(records)
    return {
        "label": series.label,
        "colour": series.colour,
        "meaning": series.meaning,
        "bytes": series.event_bytes,
        "drawing": series.drawing.name.lower(),
        "sums": repeats(series.sums(records)),
        # Distances between successive bounds are far shorter than cycles.
        "intervals": np.diff(intervals.reshape(-1), prepend=records.first).tolist(),
        "gap": records.gaps.get(series.signals[0], 1),
    }


def repeats(values: np.ndarray) -> list[int]:
    """Return non-negative values, run-length encoded: -n means n more copies of the last value."""
    if not len(values):
        return []
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    counts = np.diff(np.append(starts, len(values)))
    encoded = []
    for value, count in zip(values[starts].tolist(), counts.tolist(), strict=True):
        encoded += [value] if count == 1 else [value, 1 - count]
    return encoded
