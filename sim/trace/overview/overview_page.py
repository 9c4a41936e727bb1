"""A page that shows what every engine of a cluster did, all of a run at one look."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....hw.config import ClusterConfig
from ..page import filled
from .cluster_records import ClusterRecords
from .tracks import Series, Track, cluster_tracks

__all__ = ["overview_data", "overview_page"]


def overview_page(
    records: ClusterRecords, config: ClusterConfig, title: str, marks: Mapping[str, int]
) -> str:
    """Return the page: a track for each engine, its shares of time in bins of cycles.

    Parameters
    ----------
    records : ClusterRecords
        Of the signals of `cluster_signals`.
    config : ClusterConfig
        Of the machine.
    title : str
        What ran.
    marks : mapping of str to int
        Cycles that have a name.

    """
    return filled("overview", title, overview_data(records, config, marks))


def overview_data(
    records: ClusterRecords, config: ClusterConfig, marks: Mapping[str, int]
) -> dict[str, Any]:
    """Return what the page shows; `tracksOf` of the script reads it."""
    return {
        "first": records.first,
        "end": records.end,
        "bin": records.bin_cycles,
        "marks": sorted((cycle, name) for name, cycle in marks.items()),
        "tracks": [track_data(track, records) for track in cluster_tracks(config, records)],
    }


def track_data(track: Track, records: ClusterRecords) -> dict[str, Any]:
    """Return what the page shows of a track."""
    return {
        "title": track.title,
        "most": track.most,
        "series": [series_data(series, records) for series in track.series],
    }


def series_data(series: Series, records: ClusterRecords) -> dict[str, Any]:
    """Return what the page shows of a series."""
    found = series.intervals(records)
    return {
        "label": series.label,
        "colour": series.colour,
        "bytes": series.event_bytes,
        "drawing": series.drawing.name.lower(),
        "sums": repeats(series.sums(records)),
        # Far shorter than cycles: from the end of the one before, and how long.
        "intervals": np.diff(found.reshape(-1), prepend=records.first).tolist(),
        "gap": records.gaps.get(series.signals[0], 1),
    }


def repeats(values: np.ndarray) -> list[int]:
    """Return values, none below 0, with -n for n more of the value before."""
    if not len(values):
        return []
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    counts = np.diff(np.append(starts, len(values)))
    told = []
    for value, count in zip(values[starts].tolist(), counts.tolist(), strict=True):
        told += [value] if count == 1 else [value, 1 - count]
    return told
