"""Tests of the charts and the page of a sweep."""

import json
import random
import re
from xml.etree import ElementTree

import pyright.node
import pytest

from spica.cli.sweep.charts import Charts
from spica.explore.axes import Axis
from spica.explore.chart import pareto_chart, plot_chart, scale_of
from spica.explore.page import sweep_page
from spica.explore.pareto import front
from spica.explore.quantity import Quantity, parsed_quantities
from spica.explore.record import ILLEGAL, PASS, Record
from spica.explore.table import Row, ordered
from spica.hw.base.errors import UserError

AXES = [Axis("core.warps", ("2", "4", "8")), Axis("matrix.operand", ("fp16", "<int8>"))]
CYCLES, AREA, WARPS = Quantity("cycles"), Quantity("nand2"), Quantity("core.warps")
SVG = "{http://www.w3.org/2000/svg}"


def made_up():
    """Return rows of two presets, some of which failed or lack a figure."""
    rng = random.Random(1)
    rows = []
    for preset in ("core", "a<b"):
        for warps in AXES[0].values:
            for operand in AXES[1].values:
                status = ILLEGAL if rng.random() < 0.2 else PASS
                cycles = None if rng.random() < 0.2 else rng.randrange(100, 10_000)
                record = Record(status=status, reason="no" * (status != PASS))
                if status == PASS:
                    record = Record(status=PASS, figures={"cycles": cycles, "issued": 0.25})
                settings = {"core.warps": warps, "matrix.operand": operand}
                rows.append(Row(preset, settings, record, {"nand2": rng.random() * 1e6}))
    return ordered(rows)


ROWS = made_up()
SHOWN = [number for number, row in enumerate(ROWS) if row.figures.get("cycles") is not None]


def marks_of(svg):
    """Return the marks of a chart by the numbers of their rows."""
    circles = ElementTree.fromstring(svg).iter(f"{SVG}circle")
    return {int(mark.get("data-row")): mark for mark in circles if mark.get("data-row")}


def test_every_row_with_both_figures_has_a_mark_in_its_place():
    marks = marks_of(plot_chart("a <title>", CYCLES, AREA, ROWS))
    assert sorted(marks) == SHOWN and 3 < len(SHOWN) < len(ROWS)
    by_cycles = sorted(SHOWN, key=lambda number: ROWS[number].figures["cycles"])
    assert by_cycles == sorted(SHOWN, key=lambda number: float(marks[number].get("cx")))
    by_area = sorted(SHOWN, key=lambda number: ROWS[number].figures["nand2"])
    assert by_area == sorted(SHOWN, key=lambda number: -float(marks[number].get("cy")))
    title = marks[SHOWN[0]].find(f"{SVG}title").text
    assert title.startswith(ROWS[SHOWN[0]].preset) and "matrix.operand = " in title


def test_a_line_joins_the_values_of_a_field():
    svg = plot_chart("t", WARPS, CYCLES, ROWS)
    lines = [
        line.get("points").split() for line in ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    ]
    assert sum(map(len, lines)) == len(SHOWN)
    groups = {(ROWS[n].preset, ROWS[n].settings["matrix.operand"]) for n in SHOWN}
    assert len(lines) == len(groups)
    for line in lines:
        across = [float(point.partition(",")[0]) for point in line]
        assert across == sorted(across)


def test_front_is_drawn_and_dominated_points_are_pale():
    svg = pareto_chart("t", AREA, CYCLES, ROWS)
    points = [(ROWS[n].figures["nand2"], ROWS[n].figures["cycles"]) for n in SHOWN]
    best = {SHOWN[place] for place in front(points, ("less", "less"))}
    pale = {number for number, mark in marks_of(svg).items() if mark.get("class") == "beaten"}
    assert pale == set(SHOWN) - best and best and pale
    (line,) = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    assert len(line.get("points").split()) == len(best)


def test_a_chart_without_points_says_so():
    assert "no point has both figures" in plot_chart("t", Quantity("depth"), CYCLES, ROWS)


@pytest.mark.parametrize("values", [[5], [0, 0], [-3, 7], [1e-9, 3e-9], [10, 1e9]])
def test_a_scale_holds_its_values_and_round_lines(values):
    scale = scale_of(values, 100, 500)
    assert all(100 < scale(value) < 500 for value in values)
    lines = [*scale.grid]
    assert 3 <= len(lines) <= 30 and all(100 <= scale(line) <= 500 for line in lines)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("cycles", {}, "--plot must be two columns, as in cycles,nand2, not 'cycles'"),
        ("cycles,cycles", {}, "must be two columns"),
        ("cycles,speed", {}, "--plot must be two of cycles, .* not 'speed'"),
        ("cycles,nand2", {"has_area": False}, "--plot cycles,nand2 needs --area"),
        ("matrix.operand,cycles", {}, "needs numbers, and matrix.operand has 'fp16'"),
        ("core.warps,cycles", {"has_direction": True}, "not 'core.warps'"),
    ],
)
def test_unknown_axes_are_refused(text, options, message):
    with pytest.raises(UserError, match=message):
        parsed_quantities("--plot", text, AXES, **({"has_area": True} | options))


def test_charts_need_a_folder_and_a_folder_needs_charts(tmp_path):
    some = Charts("t", AXES, True, plot="cycles,nand2", pareto=None)
    with pytest.raises(UserError, match="--plot and --pareto need --output"), some.opened(None):
        pass
    none = Charts("t", AXES, True, plot=None, pareto=None)
    with pytest.raises(UserError, match="--output needs --plot"), none.opened(tmp_path / "x"):
        pass
    assert [*tmp_path.iterdir()] == []


def test_files_are_written_together(tmp_path):
    charts = Charts("t", AXES, True, plot="core.warps,cycles", pareto="nand2,cycles")
    with charts.opened(tmp_path / "x") as drafts:
        charts.write(drafts, ROWS)
    names = sorted(path.name for path in (tmp_path / "x").iterdir())
    assert names == ["pareto.svg", "plot.svg", "sweep.html"]
    page = (tmp_path / "x" / "sweep.html").read_text()
    charts = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["charts"]
    assert charts == [(tmp_path / "x" / f"{name}.svg").read_text() for name in ("plot", "pareto")]


def test_page_needs_no_network():
    page = sweep_page("</script><b>", [plot_chart("<i>", CYCLES, AREA, ROWS)], AXES, ROWS, True)
    text = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|\burl\(|\bfetch\(", text)
    assert "<h1>Spica: &lt;/script&gt;&lt;b&gt;" in page and page.count("<script") == 2


#: The page without a browser: elements record their contents, the pointer goes to a mark.
STUB = """
const fs = require("fs"), page = fs.readFileSync(process.argv[2], "utf8");
const data = /id="data">(.*?)<\\/script>/s.exec(page)[1];
const script = /<script>(.*?)<\\/script>/s.exec(page)[1];
const elements = {}, marked = [];
let move, under = [];
const element = (id) => elements[id] ??= { textContent: id === "data" ? data : "", style: {},
  innerHTML: "", offsetWidth: 9, offsetHeight: 9 };
const document = { getElementById: element,
  querySelectorAll: (what) => [{ remove() {}, classList: {
    toggle: (name, isOn) => marked.push([what, name, isOn]) } }],
  elementsFromPoint: () => under.map((row) => ({
    closest: () => row === null ? null : { dataset: { row } } })),
  addEventListener(kind, act) { move = act; } };
const window = { innerWidth: 900, innerHeight: 900 };
new Function("document", "window", "module", script)(document, window, {});
const at = (...rows) => { under = rows; move({ clientX: 5, clientY: 5 }); };
at("2", null);
const shown = { text: elements.tip.textContent, display: elements.tip.style.display };
at("2", "2", "3", null);
const both = elements.tip.textContent;
at(null);
console.log(JSON.stringify({ shown, both, after: elements.tip.style.display, marked,
  charts: elements.charts.innerHTML, table: elements.table.innerHTML }));
"""


def test_a_point_under_the_pointer_shows_its_values(tmp_path):
    """The script of the page runs without a browser."""
    charts = [plot_chart("t", WARPS, CYCLES, ROWS), pareto_chart("t", AREA, CYCLES, ROWS)]
    (tmp_path / "page.html").write_text(sweep_page("t", charts, AXES, ROWS, True))
    (tmp_path / "stub.js").write_text(STUB)
    command = [str(tmp_path / name) for name in ("stub.js", "page.html")]
    run = pyright.node.run("node", *command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    row = ROWS[2]
    lines = found["shown"]["text"].splitlines()
    assert lines[0] == f"preset: {row.preset}"
    assert f"core.warps: {row.settings['core.warps']}" in lines and "issued: 0.2500" in lines
    assert (found["shown"]["display"], found["after"]) == ("block", "none")
    assert ['[data-row="2"]', "marked", True] in found["marked"]
    assert [mark[::2] for mark in found["marked"][-2:]] == [
        ['[data-row="2"]', False],
        ['[data-row="3"]', False],
    ]
    assert found["both"].count("preset: ") == 2  # points in one place
    assert found["charts"] == "".join(charts)
    table = found["table"]
    assert table.count("<tr") == len(ROWS) + 1
    assert "<th>nand2</th>" in table and "<th>depth</th>" not in table
    assert "&#60;int8&#62;" in table and "<int8>" not in table
