"""Draw what every engine of a cluster did as SVG.

``python docs/overview_picture.py`` runs 512 x 512 x 512 on `matrix` and draws how it begins.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np

from spica.hw.config import PRESETS, ClusterConfig
from spica.kernels.commands import Host
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.schedule import schedule
from spica.sim.cluster_machine import observed_cluster
from spica.sim.cluster_records import ClusterRecords
from spica.sim.machine import Machine
from spica.sim.overview import Overview
from spica.sim.run import RunOptions, pose
from spica.sim.trace.tracks import Drawing, Track, cluster_tracks

__all__ = ["picture"]

SIZE, PRESET = 512, "matrix"
WINDOW = (0, 36_000)  # two tiles of C
FILE = Path(__file__).parent / "pictures" / "overview.svg"
STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
.dim { fill: #69707a; } .line { stroke: #d4d8de; } .ground { fill: #f3f4f6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .dim { fill: #9aa2ad; } .line { stroke: #343b44; }
  .ground { fill: #1c2026; } }
""".strip()
LEFT, COLUMNS, COLUMN, CHART, ROW, TOP = 190, 400, 2, 26, 36, 26


def picture(records: ClusterRecords, config: ClusterConfig) -> str:
    """Return the picture as SVG: a chart for each track."""
    tracks = cluster_tracks(config, records)
    first, end = records.first, records.end
    edges = np.linspace(first, end, COLUMNS + 1)
    width, height = LEFT + COLUMNS * COLUMN + 8, TOP + ROW * len(tracks) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
    ]
    for row, track in enumerate(tracks):
        parts += drawn(track, records, edges, TOP + ROW * row)
    step = next(k for k in (10**n * m for n in range(12) for m in (1, 2, 5)) if k * 8 > end - first)
    for cycle in range(-(-first // step) * step, end, step):
        x = LEFT + COLUMNS * COLUMN * (cycle - first) / (end - first)
        parts.append(f'<line class="line" x1="{x:.1f}" y1="16" x2="{x:.1f}" y2="{height - 48}"/>')
        if x + 60 < width:
            parts.append(f'<text class="dim" x="{x + 3:.1f}" y="14">{cycle:,}</text>')
    parts += legend(tracks, records, height - 42)
    return "\n".join([*parts, "</svg>"]) + "\n"


def shares(sums: np.ndarray, records: ClusterRecords, edges: np.ndarray) -> np.ndarray:
    """Return how often something happened in one cycle between the edges."""
    ends = np.append(
        records.first + np.arange(records.bins) * records.bin_cycles,
        records.end,
    )
    until = np.append(0, np.cumsum(sums))
    return np.diff(np.interp(edges, ends, until)) / np.diff(edges)


def drawn(track: Track, records: ClusterRecords, edges: np.ndarray, y: int) -> Iterator[str]:
    """Yield the chart of a track."""
    yield f'<text x="8" y="{y + 17}">{escape(track.title)}</text>'
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
    """Return a path over columns of some heights, from the left or from the right."""
    downs = np.round(y + CHART * (1 - heights), 1)
    ends = np.flatnonzero(np.append(downs[1:] != downs[:-1], True)) + 1
    across = LEFT + COLUMN * (COLUMNS - ends if back else ends)
    return "".join(
        f"V{down:g}H{x}" for down, x in zip(downs[ends - 1].tolist(), across.tolist(), strict=True)
    )


def legend(tracks: list[Track], records: ClusterRecords, y: int) -> Iterator[str]:
    """Yield what the colours mean that are seen."""
    labels: dict[str, list[str]] = {}
    for track in tracks:
        for series in track.series:
            seen = series.drawing is Drawing.STACK and series.sums(records).any()
            if seen and series.label not in labels.setdefault(series.colour, []):
                labels[series.colour].append(series.label)
    x = 8
    for colour, names in labels.items():
        label = ", ".join(names)
        if x + 34 + 7.3 * len(label) > LEFT + COLUMNS * COLUMN:
            x, y = 8, y + 20
        yield f'<rect fill="{colour}" x="{x}" y="{y}" width="14" height="14"/>'
        yield f'<text x="{x + 19}" y="{y + 12}">{escape(label)}</text>'
        x += 34 + round(7.3 * len(label))


def main() -> None:
    """Run the product and write the picture."""
    config = PRESETS[PRESET]
    problem, steps = pose(config, SIZE, SIZE, SIZE, RunOptions())
    host = Host()
    schedule(config, problem, host, steps)
    with Machine(config, name=PRESET, kind=observed_cluster) as machine:
        for address, data in problem.image(*operands(problem, "random", 1)):
            machine.write(address, data)
        overview = Overview(machine, config, WINDOW)
        machine.execute(host.commands.array())
        records = overview.records()
    FILE.write_text(picture(records, config))


if __name__ == "__main__":
    main()
