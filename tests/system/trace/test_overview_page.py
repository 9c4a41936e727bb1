"""Tests of the files of the cluster timeline: complete recorded data."""

import json
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.sim.trace import OVERVIEW_SUFFIXES, write_overview
from spica.sim.trace.overview.chrome import POINTS, SPANS, joined
from spica.sim.trace.overview.overview_page import repeats
from spica.sim.trace.overview.svg import shares
from spica.sim.trace.overview.tracks import Drawing, cluster_tracks
from support.browser import OVERFLOW, WIDTHS, drawn_again, opened
from support.trace.page_script import run_page
from support.trace.random_records import made_up

SVG = "{http://www.w3.org/2000/svg}"
CONFIG = PRESETS["tiny_matrix"]
MARKS = {"first command": 3, "last write response": 970}


def test_a_name_must_state_the_format(tmp_path):
    with pytest.raises(UserError, match=r"must end in \.html, \.json, \.svg, not x\.log"):
        write_overview(tmp_path / "x.log", made_up(CONFIG), CONFIG, "x")


@pytest.mark.parametrize("values", [[], [0], [5, 5], [0, 0, 0, 1, 2, 2, 0], [3, 1, 1, 1, 1]])
def test_repeated_values_are_stored_once(values):
    spans = repeats(np.array(values, np.int64))
    decoded = []
    for one in spans:
        decoded += [one] if one >= 0 else [decoded[-1]] * -one
    assert decoded == values
    assert len(spans) <= len(values)


def written(tmp_path, records, suffix, config=CONFIG, title="a run", marks=MARKS):
    path = tmp_path / f"trace{suffix}"
    write_overview(path, records, config, title, marks)
    return path.read_text()


def test_page_needs_no_network(tmp_path):
    page = written(tmp_path, made_up(CONFIG), ".html", title="</script><b>@SCRIPT@")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|\burl\(|\bfetch\(", page)
    assert "<h1>Spica: &lt;/script&gt;&lt;b&gt;" in page


#: Draws the page, moves the pointer over it, presses keys, and shows what its functions return.
STUB = """
let fills = 0, strokes = 0;
const keys = {};
const pen = { setTransform: nothing, clearRect: nothing, beginPath: nothing, fillRect: nothing,
  moveTo: nothing, lineTo(x, y) { if (!(x >= 0 && y >= 0)) throw Error(`${x} ${y}`); },
  stroke() { strokes++; }, fill() { fills++; },
  fillText(text, x, y) { texts.push(text); places[text] = y; } };
const places = {}, tracks_y = (title) => places[title];
const window = { ...view,
  requestAnimationFrame(act) { fills = strokes = 0; texts.length = 0; act(); },
  addEventListener(kind, act) { if (kind === "keydown") keys.down = act; } };
new Function("document", "window", "module", script)(document, window, {});
const whole = { fills, strokes, texts: [...texts] };
const module_ = {};
new Function("document", "module", script)(undefined, module_);
const { tracksOf, rate, describe, summaryOf, binsAround, keysOf } = module_.exports;
const told = JSON.parse(data), tracks = tracksOf(told), tips = [];
for (let y = 40; y < 1400; y += 11) for (let x = 220; x < 1500; x += 160) {
  elements.canvas.on.mousemove({ clientX: x, clientY: y });
  if (elements.tip.style.display === "block") tips.push(elements.tip.textContent);
}
const press = (key) => keys.down({ key, preventDefault: nothing });
for (let k = 0; k < 12; k++) press("+");
press("ArrowDown");
const first = elements.about.innerHTML;
elements.canvas.on.mousedown({ clientX: 300, clientY: tracks_y("matrix array") });
elements.canvas.on.click({ clientX: 302, clientY: tracks_y("matrix array") });
console.log(JSON.stringify({
  whole, tips, near: elements.range.textContent, first, about: elements.about.innerHTML,
  keys: tracks.map((track) => keysOf(track, 400).map((key) => [key.series.label, key.x, key.line])),
  tracks: tracks.map((track) => [track.title, track.series.map((series) => ({
    label: series.label, total: series.until.at(-1),
    half: rate(series, told.first, told.first + told.bin / 2, told),
    intervals: series.intervals.map((one) => [one.start, one.end]) }))]),
  text: describe(tracks[0], 500, 500, 501, told),
  warps: describe(tracks.at(-1), 12, 12, 13, told), bins: binsAround(9, 17, told),
  summary: summaryOf(tracks, told),
}));
"""


def of_page(tmp_path, records, config):
    """Return what the script of a page shows without a browser."""
    written(tmp_path, records, ".html", config)
    return run_page(tmp_path / "trace.html", STUB)


def test_page_draws_what_was_recorded(tmp_path):
    config = PRESETS["tiny"]
    records = made_up(config, cycles=1003)
    page = of_page(tmp_path, records, config)
    tracks = cluster_tracks(config, records)
    assert [title for title, _ in page["tracks"]] == [track.title for track in tracks]
    for (_, shown), track in zip(page["tracks"], tracks, strict=True):
        for one, series in zip(shown, track.series, strict=True):
            sums = series.sums(records)
            assert one["label"] == series.label
            assert one["total"] == sums.sum()
            assert one["half"] == pytest.approx(sums[0] / records.bin_cycles)
            assert one["intervals"] == series.intervals(records).tolist()
    lines = sum(s.drawing is Drawing.LINE for track in tracks for s in track.series)
    stacks = sum(s.drawing is Drawing.STACK for track in tracks for s in track.series)
    assert (page["whole"]["fills"], page["whole"]["strokes"]) == (stacks, lines)
    assert {track.title for track in tracks} | set(MARKS) <= set(page["whole"]["texts"])
    first = tracks[0].series[0]
    often = first.sums(records)[500 // 8] / 8
    assert page["text"].startswith("DRAM read m_axi0, cycles 496 to 503\n")
    assert f"reads: {16 * often:.1f} of 16 bytes/cycle, {100 * often:.1f} %" in page["text"]
    ((start, end),) = [
        span for span in first.intervals(records).tolist() if span[0] <= 500 < span[1]
    ] or [(0, 0)]
    assert (f"reads from {start} to {end - 1}: {end - start} cycles" in page["text"]) == (end > 0)
    active, waiting, asleep = (
        int(records.sums[f"core0_{what}"][1]) for what in ("active", "at_barrier", "asleep")
    )
    share = 100 * max(active - waiting, 0) / 8 / config.core.warps
    assert page["warps"].startswith("core 0 warps, cycles 8 to 15\n")
    assert (f"run: {share:.1f} %" in page["warps"]) == (share > 0)
    for label, cycles in (("wait at a barrier", max(waiting - asleep, 0)), ("sleep", asleep)):
        text = f"{label}: {100 * cycles / 8 / config.core.warps:.1f} %"
        assert (text in page["warps"]) == (cycles > 0)
    assert page["bins"] == [8, 24]
    assert any(tip.startswith("core 0 issue, cycles ") for tip in page["tips"])
    assert "matrix array" in {row[0] for row in page["summary"]}
    span = 1003 + 1
    for _ in range(12):
        span = max(span / 1.5, 8)
    low, high = map(int, re.findall(r"\d+", page["near"])[:2])
    assert abs(high - low - span) <= 1
    assert page["first"].startswith(f"<b>{tracks[0].title}</b>")
    (array,) = (track for track in tracks if track.title == "matrix array")
    for series in array.series:
        assert f"{series.label} <span>{series.meaning}</span>" in page["about"]
    assert f"({array.manual})" in page["about"]


def test_colours_of_a_track_are_beside_its_title(tmp_path):
    """They continue on further lines if they do not fit."""
    config = PRESETS["tiny"]
    records = made_up(config, cycles=1003)
    page = of_page(tmp_path, records, config)
    tracks = cluster_tracks(config, records)
    for keys, track in zip(page["keys"], tracks, strict=True):
        assert [label for label, _, _ in keys] == [series.label for series in track.series]
        for (_, x, line), (label, after, next_line) in pairwise(keys):
            assert (after > x) if line == next_line else (after < x and next_line == line + 1)
            assert after + 6 * len(label) <= 400
    labels = {series.label for track in tracks for series in track.series}
    assert labels <= set(page["whole"]["texts"])


def test_trace_events_have_what_was_recorded(tmp_path):
    records = made_up(CONFIG)
    page = json.loads(written(tmp_path, records, ".json"))
    events = page["traceEvents"]
    assert page["otherData"]["marks"] == MARKS
    assert {event["name"]: event["ts"] for event in events if event["ph"] == "i"} == MARKS
    threads = {
        event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    for track in cluster_tracks(CONFIG, records):
        counted = [event for event in events if event["ph"] == "C" and event["name"] == track.title]
        for series in track.series:
            share = dict.fromkeys(range(records.bins), 0.0)
            for event, after in zip(counted, [*counted[1:], None], strict=True):
                end = records.bins if after is None else after["ts"] // records.bin_cycles
                for k in range(event["ts"] // records.bin_cycles, end):
                    share[k] = event["args"].get(series.label)
            if series.drawing is not Drawing.MARK:
                expected = 100 * series.sums(records) / records.bin_cycles / track.most
                assert list(share.values()) == pytest.approx(expected.tolist(), abs=0.01)
            title = f"{track.title}: {series.label}"
            spans = [
                [event["ts"], event["ts"] + event["dur"]]
                for event in events
                if event["ph"] == "X" and threads[event["tid"]] == title
            ]
            assert spans == series.intervals(records).tolist(), title
        assert all(value == 0 for value in counted[-1]["args"].values())
        assert counted[-1]["ts"] == records.end


def test_long_runs_make_no_larger_files(tmp_path):
    config = PRESETS["virgo"]
    records = made_up(config, cycles=8192 * 64, bin_cycles=64)
    ends = np.arange(0, 4 * 4096, 2).reshape(-1, 2) * 30
    for name in records.intervals:
        records.intervals[name] = ends
    tracks = cluster_tracks(config, records)
    for suffix in OVERVIEW_SUFFIXES:
        assert len(written(tmp_path, records, suffix, config)) < 7_000_000, suffix
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "C" for event in events) <= (POINTS + 1) * len(tracks)
    short = joined(ends, SPANS)
    assert len(short) <= SPANS
    assert (short[0][0], short[-1][1]) == (ends[0, 0], ends[-1, 1])


def test_a_picture_has_every_track(tmp_path):
    records = made_up(CONFIG)
    text = written(tmp_path, records, ".svg", marks={"the <first>": 990})
    root = ElementTree.fromstring(text)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    tracks = cluster_tracks(CONFIG, records)
    assert {track.title for track in tracks} <= set(texts)
    assert {"200", "400", "800", "the <first>"} <= set(texts)
    lines = [line.get("d") for line in root.iter(f"{SVG}path") if line.get("class") == "line"]
    pieces = [[int(y) for y in re.findall(r"[ V](\d+)", line)] for line in lines]
    assert len({line.split(" ")[0] for line in lines}) == len(lines) > 3
    swatches = [int(rect.get("y")) for rect in root.iter(f"{SVG}rect") if rect.get("width") == "12"]
    for ends in pieces:
        free = [*zip(ends[1::2], [*ends[2::2], ends[-1] + 12], strict=True)]
        assert all(any(end <= y and y + 12 <= start for end, start in free) for y in swatches)
    series = records.sums["matrix_active"]
    edges = np.array([0, 4, 20, 1000])
    often = shares(series.astype(np.int64), records, edges)
    halves = series[0] / 2 / 4, (series[0] / 2 + series[1] + series[2] / 2) / 16
    assert often[:2].tolist() == pytest.approx(halves)
    assert (often * np.diff(edges)).sum() == pytest.approx(series.sum())


def range_of(page):
    """Return the first and the last visible cycle of a page."""
    numbers = re.findall(r"[\d,]+", page.locator("#range").inner_text())
    first, last = (int(number.replace(",", "")) for number in numbers[:2])
    return first, last


def busy_seconds(page):
    """Return the processor time of a page, whatever else the computer does."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")


@pytest.fixture(scope="module")
def long_page(tmp_path_factory):
    """Return the page of a run of a million cycles."""
    config = PRESETS["virgo"]
    file = tmp_path_factory.mktemp("long") / "run.html"
    write_overview(file, made_up(config, cycles=1_000_000, bin_cycles=64), config, "x", MARKS)
    return file


@pytest.mark.full
def test_a_million_cycles_are_shown_in_two_seconds(browser, long_page):
    with opened(browser, long_page) as page:
        page.evaluate("() => new Promise(requestAnimationFrame)")
        shown = busy_seconds(page)
        assert range_of(page) == (0, 1_000_000)
        assert shown <= 2
        with drawn_again(page):
            page.keyboard.press("+")
        assert range_of(page)[0] > 0
        assert busy_seconds(page) - shown <= 0.2


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_zoom_keys_and_pointer(browser, long_page, width):
    with opened(browser, long_page, width) as page:
        assert page.evaluate(OVERFLOW) == 0
        with drawn_again(page):
            page.keyboard.press("+")
        first, last = range_of(page)
        assert last - first < 700_000
        with drawn_again(page):
            page.keyboard.press("ArrowRight")
        assert range_of(page)[0] > first
        first, last = range_of(page)
        page.locator("#canvas").hover(position={"x": 300, "y": 60})
        page.keyboard.down("Control")
        with drawn_again(page):
            page.mouse.wheel(0, -100)
        page.keyboard.up("Control")
        assert range_of(page)[0] > first and range_of(page)[1] < last
        with drawn_again(page):
            page.get_by_role("button", name="all").click()
        assert range_of(page) == (0, 1_000_000)


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_a_click_explains_a_track(browser, long_page, width):
    tracks = cluster_tracks(PRESETS["virgo"], made_up(PRESETS["virgo"], cycles=64))
    with opened(browser, long_page, width) as page:
        about = page.locator("#about")
        assert not about.is_visible()
        page.locator("#canvas").click(position={"x": 300, "y": 70})
        assert tracks[0].series[0].meaning in about.inner_text()
        assert tracks[0].manual in about.inner_text()
        assert page.locator("#tip").inner_text().startswith(f"{tracks[0].title}, cycles ")
        page.keyboard.press("ArrowDown")
        assert tracks[1].title in about.inner_text()
        page.evaluate(
            """(tracks) => { for (let k = 0; k < tracks; k++)
              window.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" })); }""",
            len(tracks),
        )
        assert tracks[-1].manual in about.inner_text()
        assert page.evaluate("document.getElementById('view').scrollTop") > 0
        page.keyboard.press("Escape")
        assert not about.is_visible()
