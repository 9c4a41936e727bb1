"""Tests of the port recorder against the definition of its records."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.emit.emission import EmittedPort
from spica.sim.engine.verilator_model import build_harness
from spica.sim.harness.binding import Layout
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.harness import Harness
from spica.sim.trace.overview.activity_records import ALL
from spica.sim.trace.overview.cluster_records import ClusterRecording, RecordedSignal

LAYOUT = Layout(
    [
        EmittedPort("wide", "output", 64),
        EmittedPort("event", "output", 1),
        EmittedPort("count", "output", 8),
        EmittedPort("states", "output", 32),
    ],
    (),
)
SIGNALS = (
    RecordedSignal(name="happens", port="event"),
    RecordedSignal(name="how_often", port="count"),
    RecordedSignal(name="delayed", port="count", delay=2),
    RecordedSignal(name="bits", port="states", kind="bits"),
    RecordedSignal(name="is_three", port="count", kind="equals", code=3),
    RecordedSignal(name="no_intervals", port="event", has_intervals=False),
)


def made(signals=SIGNALS, **options):
    """Return a harness without DRAM, and a recording in it."""
    harness = Harness(
        build_harness(),
        LAYOUT.table(),
        DramConfig(),
        channels=0,
        interleave_bytes=64,
        access_cycles=20,
    )
    return harness, ClusterRecording(harness, LAYOUT, signals, **options)


def shown(cycles, seed, quiet):
    """Return rows of output words: often idle, in bursts, with extremes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 1 << 32, (cycles, LAYOUT.output_words), dtype=np.uint32)
    places = {port.name: port.word for port in LAYOUT.outputs}
    rows[:, places["event"]] &= 1
    rows[:, places["count"]] = rng.choice([0, 3, 3, 7, 255], cycles)
    rows[rng.random(cycles) < 0.1, places["states"]] = 0xFFFF_FFFF
    for start in range(0, cycles, 32):
        if rng.random() < quiet:
            rows[start : start + 32] = 0
    return rows


def feed(harness, rows):
    inputs = np.zeros(4, np.uint32)
    for row in rows:
        harness.step(harness.handle, row, inputs)


def values_of(signal, rows):
    """Return the value of a signal in each cycle, computed from the ports."""
    word = next(port.word for port in LAYOUT.outputs if port.name == signal.port)
    column = rows[:, word].astype(np.int64)
    values = {
        "value": column,
        "bits": np.array([int(value).bit_count() for value in column]),
        "equals": (column == signal.code).astype(np.int64),
    }[signal.kind]
    return np.append(values[signal.delay :], np.zeros(signal.delay, np.int64))


def intervals_of(values, first, gap):
    """Return the intervals of cycles with a value; gaps below `gap` are joined."""
    intervals = []
    for cycle in np.flatnonzero(values) + first:
        if intervals and cycle < intervals[-1][1] + gap:
            intervals[-1][1] = cycle + 1
        else:
            intervals.append([cycle, cycle + 1])
    return intervals


@pytest.mark.parametrize(
    ("window", "bins", "intervals"),
    [(ALL, 1 << 20, 1 << 20), (ALL, 64, 32), ((37, 1500), 100, 2), ((3, 4), 2, 2)],
)
def test_sums_and_intervals(window, bins, intervals):
    harness, recording = made(window=window, bins=bins, intervals=intervals)
    rows = shown(3000, seed=5, quiet=0.4)
    feed(harness, rows)
    records = recording.fetch()
    harness.close()
    first, end = window[0], min(window[1], len(rows))
    assert (records.first, records.end) == (first, end)
    assert records.bins <= bins
    finest = records.bin_cycles == 1 or 2 * bins < end - first + records.bin_cycles
    assert finest, "bins are joined only where there would be too many"
    for signal in SIGNALS:
        values = values_of(signal, rows)[first:end]
        padded = np.append(values, np.zeros(-len(values) % records.bin_cycles, np.int64))
        expected = padded.reshape(-1, records.bin_cycles).sum(axis=1)
        assert records.sums[signal.name].tolist() == expected.tolist(), signal.name
        assert records.total(signal.name) == values.sum()
        if not signal.has_intervals:
            assert signal.name not in records.intervals
            continue
        gap = records.gaps[signal.name]
        recorded = records.intervals[signal.name].tolist()
        assert recorded == intervals_of(values, first, gap), signal.name
        assert len(recorded) <= intervals
        assert gap == 1 or len(intervals_of(values, first, gap // 2)) > intervals
    if bins == 1 << 20:
        assert records.bin_cycles == 1
        assert set(records.gaps.values()) == {1}


def test_what_nothing_happens_to():
    harness, recording = made()
    assert recording.fetch().bins == 0
    feed(harness, np.zeros((50, LAYOUT.output_words), np.uint32))
    records = recording.fetch()
    harness.close()
    assert (records.first, records.end, records.bins) == (0, 50, 50)
    assert not any(sums.any() for sums in records.sums.values())
    assert all(intervals.shape == (0, 2) for intervals in records.intervals.values())


def test_its_cycles_count_from_the_next():
    harness, recording = made(SIGNALS[:1])
    rows = np.ones((6, LAYOUT.output_words), np.uint32)
    feed(harness, rows)
    later = ClusterRecording(harness, LAYOUT, SIGNALS[:1])
    feed(harness, rows)
    assert recording.fetch().intervals["happens"].tolist() == [[0, 12]]
    assert later.fetch().intervals["happens"].tolist() == [[0, 6]]
    harness.close()


@pytest.mark.parametrize(
    ("signals", "options", "sentence"),
    [
        ((), {}, "a recording must have at least one signal, not 0"),
        ([RecordedSignal(name="x", port="y")], {}, "y must be an output of the design to be rec"),
        ([RecordedSignal(name="x", port="wide")], {}, "wide must have at most 32 bits to be rec"),
        (SIGNALS, {"window": (5, 5)}, "the window must end after it begins, not be cycles 5 to 4"),
    ],
)
def test_what_cannot_be_recorded(signals, options, sentence):
    with pytest.raises(UserError, match=sentence):
        made(signals, **options)


def test_limits_that_are_too_small():
    with pytest.raises(ValueError, match="bins must be"):
        made(bins=1)
