"""Timeline of a cluster in the trace-event format, for chrome://tracing and Perfetto."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....hw.config import MachineConfig
from ..pipeline.chrome import named
from .activity_records import ClusterRecords
from .tracks import Drawing, Series, Track, cluster_tracks

__all__ = ["overview_trace"]

#: A viewer needs about 100 bytes per value, so the limits are far below those of the page.
POINTS = 1024
SPANS = 1024
COUNTS, TIMES = 1, 2  # the two processes of the viewer
Event = dict[str, Any]


def overview_trace(
    records: ClusterRecords, config: MachineConfig, title: str, marks: Mapping[str, int]
) -> str:
    """Return the trace as JSON: a cycle is a microsecond of the viewer.

    A track is a counter in percent of its maximum. Each of its series also has a row with its
    active intervals. The parameters are those of `overview_page`.
    """
    tracks = cluster_tracks(config, records)
    events = [
        named("process_name", COUNTS, 0, f"{title}: percent"),
        named("process_name", TIMES, 0, f"{title}: intervals"),
        *(mark_event(name, cycle) for name, cycle in marks.items()),
    ]
    thread = 0
    for track in tracks:
        events += counter_events(track, records)
        for series in track.series:
            if spans := joined(series.intervals(records), SPANS):
                thread += 1
                events += span_events(thread, track, series, spans)
    said = {
        "cycles": [records.first, records.end],
        "marks": dict(marks),
        "totals": {
            track.title: {series.label: int(series.sums(records).sum()) for series in track.series}
            for track in tracks
        },
    }
    encode = json.JSONEncoder(separators=(",", ":")).encode
    lines = ",\n".join(map(encode, events))
    return f'{{"traceEvents":[\n{lines}\n],"otherData":{json.dumps(said)}}}\n'


def mark_event(name: str, cycle: int) -> Event:
    """Return the event of a named cycle."""
    return {"ph": "i", "s": "g", "name": name, "ts": cycle, "pid": TIMES, "tid": 0}


def counter_events(track: Track, records: ClusterRecords) -> Iterator[Event]:
    """Yield the values of a track in percent, at each change."""
    drawn = [series for series in track.series if series.drawing is not Drawing.MARK]
    step = -(-records.bins // POINTS) or 1
    starts = np.arange(0, records.bins, step)
    first = records.first + starts * records.bin_cycles
    cycles = np.diff(np.append(first, records.end))
    values = [
        np.round(100 * np.add.reduceat(series.sums(records), starts) / cycles / track.most, 2)
        for series in drawn
        if records.bins
    ]
    last = None
    for number, cycle in enumerate(first.tolist()):
        values_now = {
            series.label: float(value[number]) for series, value in zip(drawn, values, strict=True)
        }
        if values_now != last:
            yield {"ph": "C", "name": track.title, "ts": cycle, "pid": COUNTS, "args": values_now}
        last = values_now
    if last is not None:
        over = dict.fromkeys(last, 0)
        yield {"ph": "C", "name": track.title, "ts": records.end, "pid": COUNTS, "args": over}


def span_events(
    thread: int, track: Track, series: Series, spans: list[tuple[int, int]]
) -> Iterator[Event]:
    """Yield the row of a series' intervals."""
    yield named("thread_name", TIMES, thread, f"{track.title}: {series.label}")
    order = named("thread_sort_index", TIMES, thread, "")
    yield order | {"args": {"sort_index": thread}}
    for start, end in spans:
        duration = end - start
        yield {
            "ph": "X",
            "name": series.label,
            "ts": start,
            "dur": duration,
            "pid": TIMES,
            "tid": thread,
        }


def joined(intervals: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Return at most `most` intervals, merging those close to each other."""
    gap = 1
    while len(intervals) > most:
        gap *= 2
        keeps = np.append(True, intervals[1:, 0] >= intervals[:-1, 1] + gap)
        starts = intervals[keeps, 0]
        ends = intervals[np.append(keeps[1:], True), 1]
        intervals = np.stack([starts, ends], axis=1)
    return [(start, end) for start, end in intervals.tolist()]
