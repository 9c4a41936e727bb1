"""Tests of the trace page: self-contained, with all data drawn."""

import json
import re
from itertools import pairwise

import pytest

from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.operations import Port
from spica.sim.trace import write_trace
from spica.sim.trace.palette import SLOT_COLOURS
from spica.sim.trace.pipeline.life import slot_totals
from support.browser import OVERFLOW, WIDTHS, drawn_again, opened
from support.trace.page_script import run_page
from support.trace.recorded_core import CONFIG


def written(tmp_path, records):
    """Return the text of a page."""
    path = tmp_path / "trace.html"
    assert write_trace(path, records, CONFIG) == []
    return path.read_text()


def page_data(page):
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_page_holds_its_data_and_needs_no_network(recorded, pipeline, tmp_path):
    page = written(tmp_path, recorded[0])
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|\burl\(|\bfetch\(", page)
    data = page_data(page)
    (core,) = data["cores"]
    assert len(core["lives"]) == len(pipeline.lives)
    assert "@" not in re.sub(r"<script.*?</script>|@media", "", page, flags=re.DOTALL)
    for row, life in zip(core["lives"], pipeline.lives, strict=True):
        assert row[:2] == [life.warp, life.pc]
        assert row[7:14] == list(life.times)
    issued = slot_totals(pipeline)[StallReason.NONE]
    assert f"<td>issued</td><td>{issued:,}</td>" in data["summary"]


def test_text_of_a_program_cannot_end_the_data(recorded, pipeline, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "spica.sim.trace.pipeline.naming.disassemble", lambda word: "</script><b>@SCRIPT@"
    )
    page = written(tmp_path, recorded[0])
    assert page_data(page)["texts"] == ["</script><b>@SCRIPT@"]


#: Draws the page, searches, moves the pointer over it, and shows what its functions return.
STUB = """
let drawn = 0;
const pen = { setTransform: nothing, clearRect: nothing, strokeRect: nothing,
  fillRect() { drawn++; }, fillText(text) { texts.push(text); } };
const window = { ...view, addEventListener: nothing,
  requestAnimationFrame(act) { drawn = 0; texts.length = 0; act(); } };
new Function("document", "window", "module", script)(document, window, {});
const module_ = {};
new Function("document", "module", script)(undefined, module_);
const { tracksOf, aboutTrack, seen, firstAfter, search, describe, ruler, zoomed } = module_.exports;
const ranges = (row) => row.map((span) => [span.start, span.end]);
const told = JSON.parse(data), { tracks, lives } = tracksOf(told.cores[0], told);
elements.all.onclick();
const whole = { drawn, texts: [...texts] };
elements.search.on.input({ target: { value: "fmadd" } });
elements.search.on.keydown({ key: "Enter", stopPropagation: nothing });
const tips = [];
elements.view.scrollTop = 0;
for (let y = 0; y < 900; y += 7) for (let x = 120; x < 1500; x += 40) {
  elements.canvas.on.mousemove({ clientX: x, clientY: y });
  if (elements.tip.style.display === "block") tips.push(elements.tip.textContent);
}
console.log(JSON.stringify({
  whole, found: elements.found.textContent, tips, range: elements.range.textContent,
  rows: tracks.map((track) => [track.title, track.rows.map(ranges)]),
  seen: seen([0, 1, 2, 3, 10, 11, 40].map((start) => ({ start, end: start + 1 })), 1, 30, 4)
    .map((span) => span.start),
  counts: ["fmadd", "w1", "80000040", "0x80000040", "nothing"].map(
    (text) => search(lives, text, told).length),
  about: Object.fromEntries(tracks.map((track) => [track.title, aboutTrack(track, told)])),
  text: describe(lives[0], told), ruler: ruler({ from: -3, to: 47 }, 800),
  zoomed: zoomed({ from: 0, to: 100 }, 25, 0.5, 900),
}));
"""


def test_page_draws_what_was_recorded(recorded, pipeline, tmp_path):
    """Its script runs without a browser."""
    written(tmp_path, recorded[0])
    told = run_page(tmp_path / "trace.html", STUB)
    rows = dict(told["rows"])
    for title, of_track in rows.items():
        for row in of_track:
            assert all(a < b for a, b in row), title
            assert all(one[1] <= other[0] for one, other in pairwise(row)), title
    for warp in range(2):
        spans = sorted(tuple(span) for row in rows[f"warp {warp}"][1:] for span in row)
        own = [life for life in pipeline.lives if life.warp == warp]
        assert spans == sorted((life.requested, life.done + 1) for life in own)
    fused = [life for life in pipeline.lives if life.port is Port.FP32 and life.word & 0x7F == 0x43]
    at = sum(life.pc == 0x8000_0040 for life in pipeline.lives)
    assert told["counts"] == [len(fused), len(own), at, at, 0]
    assert told["found"] == f"1 of {len(fused)}"
    assert told["whole"]["drawn"] > 6 * len(pipeline.lives)
    assert "(docs/pipeline.md#stall-reasons)" in told["about"]["slot 0"]
    for reason in list(StallReason)[1:]:
        assert SLOT_COLOURS[reason] in told["about"]["slot 0"]
        assert f">{reason.name.lower().replace('_', ' ')} <" in told["about"]["warp 1"]
    assert ">store <" in told["about"]["memory"] and ">fetch <" in told["about"]["warp 0"]
    assert {"slot 0", "  slot 0", "- warp 1"} & set(told["whole"]["texts"])
    assert any(tip.startswith(f"{fused[0].pc:08x}  fmadd.s") for tip in told["tips"])
    assert "requested 1, fetched 2, issued 3" in told["text"]
    assert told["seen"] == [1, 10]
    assert told["ruler"] == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert told["zoomed"] == [12.5, 62.5]


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_search_keys_and_pointer(browser, recorded, tmp_path, width):
    written(tmp_path, recorded[0])
    with opened(browser, tmp_path / "trace.html", width) as page:
        assert page.evaluate(OVERFLOW) == 0
        page.locator("#search").fill("fmadd")
        found = page.locator("#found").inner_text()
        assert re.fullmatch(r"\d+ found", found)
        page.keyboard.press("Enter")
        assert page.locator("#found").inner_text() == f"1 of {found.split()[0]}"
        page.locator("#search").blur()
        with drawn_again(page):
            page.keyboard.press("-")
        page.locator("#canvas").click(position={"x": 300, "y": 30})
        about = page.locator("#about").inner_text()
        assert about.startswith("slot 0") and "docs/pipeline.md#stall-reasons" in about
        assert "memory" in about
        page.keyboard.press("ArrowDown")
        assert not page.locator("#about").inner_text().startswith("slot 0")
