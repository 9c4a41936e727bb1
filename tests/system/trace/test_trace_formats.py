"""Tests of traces in external formats, as text and as a page, against the records."""

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import Port
from spica.hw.isa.program import assemble_program
from spica.kernels.program import Function, Program
from spica.sim.harness.interface import HARNESS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.trace import TRACE_SUFFIXES, write_trace
from spica.sim.trace.palette import SLOT_COLOURS
from spica.sim.trace.pipeline.kanata import HOLD_LANE, STAGE_LANE
from spica.sim.trace.pipeline.life import held_up, slot_totals, stages_of
from spica.sim.trace.pipeline.pipeline import pipeline_of
from support.browser import OVERFLOW, WIDTHS, drawn_again, opened
from support.trace.page_script import run_page
from support.trace.recorded_core import CONFIG, FAULTY, PROGRAM, retired_on_model, run_recorded


def written(tmp_path, records, suffix, config=CONFIG):
    """Return the text of a trace."""
    path = tmp_path / f"trace{suffix}"
    assert write_trace(path, records, config) == []
    return path.read_text()


@pytest.fixture
def program():
    """Return the program with a function and a line of source."""
    data = assemble_program(PROGRAM).data
    program = Program(
        path=Path("main.elf"),
        entry=ENTRY,
        segments=[(ENTRY, data)],
        symbols={"main": ENTRY},
        functions=[Function("main", ENTRY, ENTRY + len(data))],
        text=[(ENTRY, data)],
        runtime=range(0),
        image=b"",
    )
    vars(program)["lines"] = [(ENTRY, "source/main.c", 7)]
    return program


@pytest.mark.parametrize("suffix", TRACE_SUFFIXES)
@pytest.mark.quick(1)
def test_a_program_names_what_was_fetched_before_the_window(suffix, program, tmp_path):
    records, _ = run_recorded(PROGRAM, CONFIG, window=(60, 90))
    path = tmp_path / f"trace{suffix}"
    assert "?" in written(tmp_path, records, suffix).partition("<script>")[0]
    assert write_trace(path, records, CONFIG, program) == []
    text = path.read_text().partition("<script>")[0]
    assert "?" not in text
    assert "fcvt.s.w fa0, a0" in text
    assert "main + 0x30" in text
    assert "main.c:7" in text


def test_a_fault_is_recorded(tmp_path):
    records, outcome = run_recorded(FAULTY, CONFIG)
    assert outcome.stop is StopReason.FAULT
    (row,) = pipeline_of(records[0]).faults
    assert row["place"] >= HARNESS.constant("kMemoryCause")
    assert (row["pc"], row["warp"]) == (outcome.fault.pc, outcome.fault.warp)
    assert (row["mask"], row["extra"]) == (outcome.fault.lanes, outcome.fault.address)
    text = f"unaddressable at {outcome.fault.pc:08x}, lanes 1111, address 00000000"
    for suffix in (".json", ".html"):
        assert text in written(tmp_path, records, suffix)


def parse_kanata(text):
    """Return the instructions of a log: thread, label, spans by lane, time and kind of end."""
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0] == ["Kanata", "0004"]
    assert lines[1][0] == "C="
    now, instructions, begun = int(lines[1][1]), {}, {}
    for command, *fields in lines[2:]:
        if command == "C":
            assert int(fields[0]) > 0
            now += int(fields[0])
            continue
        number = int(fields[0])
        if command == "I":
            assert number == len(instructions)
            instructions[number] = {"thread": int(fields[2]), "lanes": {0: [], 1: []}}
        elif command == "L":
            instructions[number][f"label {fields[1]}"] = fields[2]
        elif command == "S":
            lane, name = int(fields[1]), fields[2]
            assert (number, lane) not in begun
            begun[number, lane] = (name, now)
        elif command == "E":
            name, start = begun.pop((number, int(fields[1])))
            assert name == fields[2]
            instructions[number]["lanes"][int(fields[1])].append((name, start, now))
        else:
            assert command == "R"
            assert "end" not in instructions[number]
            instructions[number] |= {"end": now, "rank": int(fields[1]), "kind": int(fields[2])}
    assert not begun
    return instructions


def test_kanata_log_has_the_lives(recorded, pipeline, tmp_path):
    log = parse_kanata(written(tmp_path, recorded[0], ".kanata"))
    assert len(log) == len(pipeline.lives)
    order = sorted(pipeline.lives, key=lambda life: (life.requested, life.number))
    holds = held_up(pipeline)
    for shown, life in zip(log.values(), order, strict=True):
        assert shown["thread"] == life.warp
        assert shown["label 0"].startswith(f"w{life.warp} {life.pc:08x} ")
        assert shown["lanes"][STAGE_LANE] == stages_of(life, pipeline.end)
        assert shown["lanes"][HOLD_LANE] == holds[life.number]
        assert (shown["end"], shown["kind"]) == (life.done + 1, 0)
    ranks = sorted((shown["rank"], shown["end"]) for shown in log.values())
    assert [rank for rank, _ in ranks] == list(range(len(ranks)))
    assert [end for _, end in ranks] == sorted(end for _, end in ranks)


def test_kanata_log_marks_what_was_not_done(tmp_path):
    records, _ = run_recorded(PROGRAM, CONFIG, window=(60, 90))
    log = parse_kanata(written(tmp_path, records, ".kanata"))
    lives = pipeline_of(records[0]).lives
    assert sum(shown["kind"] for shown in log.values()) == sum(x.done is None for x in lives) > 0


def test_chrome_trace_is_valid_and_whole(recorded, pipeline, tmp_path):
    trace = json.loads(written(tmp_path, recorded[0], ".json"))
    spans = defaultdict(list)
    for event in trace["traceEvents"]:
        assert {"ph", "name", "pid", "tid"} <= set(event)
        assert event["ph"] in "XM"
        if event["ph"] == "X":
            assert event["dur"] > 0
            assert event["ts"] >= 0
            spans[event["pid"], event["tid"]].append(event)
    for events in spans.values():
        assert_spans_nest(events)
    pid = {e["args"]["name"]: e["pid"] for e in trace["traceEvents"] if e["name"] == "process_name"}
    whole = [
        event
        for (process, _), events in spans.items()
        for event in events
        if process == pid["core 0: warps"] and "pc" in event.get("args", {})
    ]
    shown = sorted((e["ts"], e["ts"] + e["dur"], int(e["args"]["pc"], 16)) for e in whole)
    assert shown == sorted((x.requested, x.done + 1, x.pc) for x in pipeline.lives)
    slots = trace["otherData"]["core 0"]["slots"]
    assert sum(slots.values()) == pipeline.slots[0][-1].end


def assert_spans_nest(events):
    """Two spans in a row of the viewer must be nested or disjoint."""
    open_ends = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while open_ends and open_ends[-1] <= event["ts"]:
            open_ends.pop()
        assert not open_ends or event["ts"] + event["dur"] <= open_ends[-1]
        open_ends.append(event["ts"] + event["dur"])


def test_retire_log_is_that_of_the_model(recorded, tmp_path):
    """The log's order: by warp, in the order of its instruction numbers."""
    lines = written(tmp_path, recorded[0], ".log").splitlines()
    pattern = (
        r" *(\d+) 0\.(\d+) +(\d+) ([0-9a-f]{8}) ([0-9a-f]{8}) 0x([0-9a-f]+) [^;]*"
        r"(?:; \w+ = ([0-9a-f -]+))?"
    )
    logged, cycles = defaultdict(dict), []
    for line in lines[1:]:
        cycle, warp, number, pc, word, mask, values = re.fullmatch(pattern, line).groups()
        cycles.append(int(cycle))
        values = values and [int(value, 16) for value in values.split() if value != "-"]
        logged[int(warp)][int(number)] = (int(pc, 16), int(word, 16), int(mask, 16), values)
    assert cycles == sorted(cycles)
    for warp, expected in retired_on_model(CONFIG, PROGRAM).items():
        result = [(pc, word, mask, values) for pc, word, mask, _, values in expected]
        assert [logged[warp][number] for number in range(len(logged[warp]))] == result


@pytest.mark.full
def test_wrong_files_are_refused(recorded, tmp_path):
    with pytest.raises(UserError, match=r"a trace file must end in \.kanata, .*, not x\.vcd"):
        write_trace(tmp_path / "x.vcd", recorded[0], CONFIG)
    with pytest.raises(UserError, match=r"cannot write the trace .*: No such file"):
        write_trace(tmp_path / "none" / "x.log", recorded[0], CONFIG)


def page_data(page):
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_page_holds_its_data_and_needs_no_network(recorded, pipeline, tmp_path):
    page = written(tmp_path, recorded[0], ".html")
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
    page = written(tmp_path, recorded[0], ".html")
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
  whole, count: elements.found.textContent, tips, range: elements.range.textContent,
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
    written(tmp_path, recorded[0], ".html")
    result = run_page(tmp_path / "trace.html", STUB)
    rows = dict(result["rows"])
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
    assert result["counts"] == [len(fused), len(own), at, at, 0]
    assert result["count"] == f"1 of {len(fused)}"
    assert result["whole"]["drawn"] > 6 * len(pipeline.lives)
    assert "(docs/pipeline.md#stall-reasons)" in result["about"]["slot 0"]
    for reason in list(StallReason)[1:]:
        assert SLOT_COLOURS[reason] in result["about"]["slot 0"]
        assert f">{reason.name.lower().replace('_', ' ')} <" in result["about"]["warp 1"]
    assert ">store <" in result["about"]["memory"] and ">fetch <" in result["about"]["warp 0"]
    assert {"slot 0", "  slot 0", "- warp 1"} & set(result["whole"]["texts"])
    assert any(tip.startswith(f"{fused[0].pc:08x}  fmadd.s") for tip in result["tips"])
    assert "requested 1, fetched 2, issued 3" in result["text"]
    assert result["seen"] == [1, 10]
    assert result["ruler"] == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert result["zoomed"] == [12.5, 62.5]


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_search_keys_and_pointer(browser, recorded, tmp_path, width):
    written(tmp_path, recorded[0], ".html")
    with opened(browser, tmp_path / "trace.html", width) as page:
        assert page.evaluate(OVERFLOW) == 0
        page.locator("#search").fill("fmadd")
        matches = page.locator("#found").inner_text()
        assert re.fullmatch(r"\d+ found", matches)
        page.keyboard.press("Enter")
        assert page.locator("#found").inner_text() == f"1 of {matches.split()[0]}"
        page.locator("#search").blur()
        with drawn_again(page):
            page.keyboard.press("-")
        page.locator("#canvas").click(position={"x": 300, "y": 30})
        about = page.locator("#about").inner_text()
        assert about.startswith("slot 0") and "docs/pipeline.md#stall-reasons" in about
        assert "memory" in about
        page.keyboard.press("ArrowDown")
        assert not page.locator("#about").inner_text().startswith("slot 0")
