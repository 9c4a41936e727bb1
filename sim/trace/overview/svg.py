"""Timeline of a cluster as an SVG picture, for pages without scripts."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape

import numpy as np

from ....hw.config import MachineConfig
from .activity_records import ClusterRecords
from .tracks import Drawing, Track, cluster_tracks

__all__ = ["overview_picture"]

STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
.dim { fill: #69707a; } .line { stroke: #d4d8de; } .ground { fill: #f3f4f6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .dim { fill: #9aa2ad; } .line { stroke: #343b44; }
  .ground { fill: #1c2026; } }
""".strip()
LEFT, COLUMNS, COLUMN, CHART, LINE, GAP, TOP = 8, 480, 2, 26, 18, 10, 60
LETTER = 7.3  # width of a letter in pixels
#: Most cores of which a picture has the tracks; of more it has those of the first.
MOST_CORES = 4


def overview_picture(
    records: ClusterRecords, config: MachineConfig, title: str, marks: Mapping[str, int]
) -> str:
    """Return the picture as SVG: a chart per track over the recorded cycles.

    Parameters
    ----------
    records : ClusterRecords
        Records of the signals of `cluster_signals`.
    config : MachineConfig
        Config of the machine.
    title : str
        Title of the picture: what ran.
    marks : mapping of str to int
        Named cycles.

    """
    tracks = cluster_tracks(config, records, 1 if config.cores > MOST_CORES else None)
    first, end = records.first, records.end
    edges = np.linspace(first, end, COLUMNS + 1)
    width, below, rows, charts = LEFT + COLUMNS * COLUMN + 8, TOP, [], []
    for track in tracks:
        lines, below = head(track, records, below)
        rows += [*lines, *drawn(track, records, edges, below)]
        charts.append(below)
        below += CHART + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {below}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
        f'<text x="8" y="16">{escape(title)}</text>',
        *rows,
    ]
    step = next(k for k in (10**n * m for n in range(12) for m in (1, 2, 5)) if k * 8 > end - first)
    numbers = {f"{cycle:,}": cycle for cycle in range(-(-first // step) * step, end, step)}
    for names, y in ((marks, TOP - 30), (numbers, TOP - 12)):
        places = {
            name: LEFT + COLUMNS * COLUMN * (cycle - first) / (end - first)
            for name, cycle in sorted(names.items(), key=lambda item: item[1])
        }
        parts += [grid_line(x, y, charts) for x in places.values()]
        parts += labels(places, y, width)
    return "\n".join([*parts, "</svg>"]) + "\n"


def grid_line(x: float, y: int, charts: Iterable[int]) -> str:
    """Return a line next to a label at `y` and through the charts, but not through their heads."""
    pieces = [(y - 10, y + 2), *((chart, chart + CHART) for chart in charts)]
    path = "".join(f"M{x:.1f} {start}V{end}" for start, end in pieces)
    return f'<path class="line" d="{path}"/>'


def labels(places: Mapping[str, float], y: int, width: int) -> Iterator[str]:
    """Yield text labels next to lines, in order; labels that would overlap are joined."""
    joined: list[tuple[float, str]] = []
    for text, x in places.items():
        if joined and x < joined[-1][0] + LETTER * (len(joined[-1][1]) + 1):
            joined[-1] = (joined[-1][0], f"{joined[-1][1]}, {text}")
        else:
            joined.append((x, text))
    for x, text in joined:
        fits = x + 3 + LETTER * len(text) < width
        at, anchor = (x + 3, "start") if fits else (x - 3, "end")
        yield (
            f'<text class="dim" x="{at:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
        )


def shares(sums: np.ndarray, records: ClusterRecords, edges: np.ndarray) -> np.ndarray:
    """Return the mean events per cycle between each pair of edges."""
    ends = np.append(
        records.first + np.arange(records.bins) * records.bin_cycles,
        records.end,
    )
    until = np.append(0, np.cumsum(sums))
    return np.diff(np.interp(edges, ends, until)) / np.diff(edges)


def head(track: Track, records: ClusterRecords, y: int) -> tuple[list[str], int]:
    """Return the title of a track with the colours of its series, and the place below."""
    parts = [f'<text x="{LEFT}" y="{y + 12}">{escape(track.title)}</text>']
    x = LEFT + LETTER * (len(track.title) + 2)
    for series in track.series:
        if series.drawing is not Drawing.STACK or not series.sums(records).any():
            continue
        long = 34 + LETTER * len(series.label)
        if x + long > LEFT + COLUMNS * COLUMN:
            x, y = LEFT, y + LINE
        parts += [
            f'<rect fill="{series.colour}" x="{x:.0f}" y="{y + 2}" width="12" height="12"/>',
            f'<text class="dim" x="{x + 17:.0f}" y="{y + 12}">{escape(series.label)}</text>',
        ]
        x += long
    return parts, y + LINE


def drawn(track: Track, records: ClusterRecords, edges: np.ndarray, y: int) -> Iterator[str]:
    """Yield the chart of a track."""
    width = COLUMNS * COLUMN
    yield f'<rect class="ground" x="{LEFT}" y="{y}" width="{width}" height="{CHART}"/>'
    low = np.zeros(COLUMNS)
    for series in track.series:
        part = shares(series.sums(records), records, edges) / track.most
        if series.drawing is not Drawing.STACK or not part.any():
            continue
        high = low + part
        edge = steps(high, y) + steps(low[::-1], y, back=True)
        yield f'<path fill="{series.colour}" d="M{LEFT} {y + CHART}{edge}Z"/>'
        low = high


def steps(heights: np.ndarray, y: int, *, back: bool = False) -> str:
    """Return the path along columns of these heights, from left to right, or back."""
    downs = np.round(y + CHART * (1 - heights), 1)
    ends = np.flatnonzero(np.append(downs[1:] != downs[:-1], True)) + 1
    across = LEFT + COLUMN * (COLUMNS - ends if back else ends)
    return "".join(
        f"V{down:g}H{x}" for down, x in zip(downs[ends - 1].tolist(), across.tolist(), strict=True)
    )
