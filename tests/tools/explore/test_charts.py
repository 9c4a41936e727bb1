"""Tests of the Pareto front, and of the charts and the page of a sweep."""

import json
import random
import re
import subprocess
import sys
from html import escape
from itertools import product

import pytest

from spica.base.errors import UserError
from spica.cli.sweep.charts import Charts
from spica.explore.charts.files import picture, svg
from spica.explore.charts.sweep import pareto_chart, plot_chart, sweep_page, text_of
from spica.explore.points.axes import Axis
from spica.explore.sweep.row import Row
from spica.explore.tables.pareto import front
from spica.explore.tables.quantity import Quantity, parsed_quantities
from spica.explore.tables.table import ordered
from spica.explore.work.metrics import LESS, MORE
from spica.explore.work.record import ILLEGAL, PASS, Record
from spica.sim.trace.palette import PALETTE
from support.browser import OVERFLOW, WIDTHS, opened
from support.charts import marks_of

AXES = [Axis("core.warps", ("2", "4", "8")), Axis("matrix.operand", ("fp16", "<int8>"))]
CYCLES, AREA, WARPS = Quantity("cycles"), Quantity("nand2"), Quantity("core.warps")


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


def points_of(chart):
    """Return the marks of a chart by the numbers of their rows."""
    numbers = {text_of(row): number for number, row in enumerate(ROWS)}
    return {numbers[values["point"]]: mark for values, mark in marks_of(svg(chart), "circle")}


def place_of(mark):
    """Return the place of a mark in pixels."""
    across, down = re.findall(r"[\d.]+", mark.get("transform"))
    return float(across), float(down)


def lines_of(chart):
    """Return the points of the lines of a chart."""
    lines = [mark.get("d") for _, mark in marks_of(svg(chart), "line mark")]
    return [re.findall(r"([\d.]+),([\d.]+)", line) for line in lines]


def test_every_row_with_both_figures_has_a_mark_in_its_place():
    marks = points_of(plot_chart("a <title>", CYCLES, AREA, ROWS))
    assert sorted(marks) == SHOWN and 3 < len(SHOWN) < len(ROWS)
    by_cycles = sorted(SHOWN, key=lambda number: ROWS[number].figures["cycles"])
    assert by_cycles == sorted(SHOWN, key=lambda number: place_of(marks[number])[0])
    by_area = sorted(SHOWN, key=lambda number: ROWS[number].figures["nand2"])
    assert by_area == sorted(SHOWN, key=lambda number: -place_of(marks[number])[1])
    colours = {ROWS[number].preset: mark.get("fill") for number, mark in marks.items()}
    assert set(colours.values()) == set(PALETTE[:2])


def test_a_mark_shows_all_figures_of_its_point():
    svg_marks = marks_of(svg(plot_chart("t", CYCLES, AREA, ROWS)), "circle")
    values, _ = next(svg_marks)
    assert {"point", "cycles", "nand2", "issued"} <= set(values) and values["issued"] == "0.25"
    assert "matrix.operand = " in values["point"]


def test_a_line_joins_the_values_of_a_field():
    lines = lines_of(plot_chart("t", WARPS, CYCLES, ROWS))
    assert sum(map(len, lines)) == len(SHOWN)
    groups = {(ROWS[n].preset, ROWS[n].settings["matrix.operand"]) for n in SHOWN}
    assert len(lines) == len(groups)
    for line in lines:
        across = [float(x) for x, _ in line]
        assert across == sorted(across)


def test_front_is_drawn_and_dominated_points_are_pale():
    chart = pareto_chart("t", AREA, CYCLES, ROWS)
    points = [(ROWS[n].figures["nand2"], ROWS[n].figures["cycles"]) for n in SHOWN]
    best = {SHOWN[place] for place in front(points, ("less", "less"))}
    pale = {number for number, mark in points_of(chart).items() if mark.get("opacity") != "1"}
    assert pale == set(SHOWN) - best and best and pale
    (line,) = lines_of(chart)
    assert len(line) == len(best)


def test_a_chart_without_points_says_so():
    assert "no point has both figures" in svg(plot_chart("t", Quantity("depth"), CYCLES, ROWS))


def test_equal_charts_give_equal_pictures():
    first, second = (svg(pareto_chart("t", AREA, CYCLES, ROWS)) for _ in range(2))
    assert first == second
    code = "import json, sys; from spica.explore.charts.files import svg\n"
    code += "class Chart: to_dict = lambda self: json.load(sys.stdin)\nprint(svg(Chart()), end='')"
    definition = json.dumps(pareto_chart("t", AREA, CYCLES, ROWS).to_dict())
    run = subprocess.run(
        [sys.executable, "-c", code], input=definition, capture_output=True, text=True
    )
    assert run.stdout == first


def test_pictures_are_of_both_kinds():
    chart = plot_chart("t", CYCLES, AREA, ROWS)
    assert picture(chart, ".png").startswith(b"\x89PNG")
    assert picture(chart, ".svg") == svg(chart)
    assert "prefers-color-scheme: dark" in svg(chart)


def test_commands_start_without_the_library_of_charts():
    """It takes longer to import than the rest of a command."""
    code = "import sys; from spica.cli.main import import_commands; import_commands()\n"
    code += "from spica.cli.compare import command\nprint('altair' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


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
    assert page.count('<div class="chart">') == 2


def test_page_has_charts_and_the_table():
    chart = plot_chart("<i>", CYCLES, AREA, ROWS)
    page = sweep_page("</script><b>", [chart], AXES, ROWS, True)
    text = page.partition("<script>\n")[0].replace("https://vega.github.io/schema", "")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|\burl\(|\bfetch\(", text)
    assert "<h1>Spica: &lt;/script&gt;&lt;b&gt;" in page
    assert text.count("<tr") == len(ROWS) + 1
    assert "<th>nand2</th>" in text and "<th>depth</th>" not in text
    assert "&lt;int8&gt;" in text and "<int8>" not in text
    assert f'<tr data-row="2"><td>{escape(ROWS[2].preset)}</td>' in text


@pytest.fixture
def page_file(tmp_path):
    """Return the file of a page with both charts."""
    charts = [plot_chart("t", WARPS, CYCLES, ROWS), pareto_chart("t", AREA, CYCLES, ROWS)]
    file = tmp_path / "sweep.html"
    file.write_text(sweep_page("t", charts, AXES, ROWS, True))
    return file


def sizes_of(page):
    """Return the sizes of the marks of each chart that are larger than the others."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".chart")].map((chart) => {
          const sizes = [...chart.querySelectorAll("[aria-roledescription=circle]")]
            .map((mark) => mark.getBBox().width);
          return sizes.filter((size) => size > Math.min(...sizes) + 1).length; })"""
    )


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_marks_and_rows_are_marked_together(browser, page_file, width):
    with opened(browser, page_file, width) as page:
        row = page.locator(f'tr[data-row="{SHOWN[0]}"]')
        row.hover()
        page.wait_for_function("document.querySelectorAll('tr.marked').length === 1")
        page.wait_for_timeout(100)
        assert sizes_of(page) == [1, 1]
        page.mouse.move(1, 1)
        page.wait_for_function("document.querySelectorAll('tr.marked').length === 0")
        page.locator("[aria-roledescription=circle]").last.hover()
        page.wait_for_function("document.querySelectorAll('tr.marked').length === 1")
        tip = page.locator("#vg-tooltip-element").inner_text()
        assert "cycles" in tip and ROWS[SHOWN[-1]].preset in tip
        assert page.locator("tr.marked").get_attribute("data-row") == str(SHOWN[-1])
        assert page.evaluate(OVERFLOW) == 0


def dominates(one, other, better):
    """Return whether a point is nowhere worse than another one, and better in one metric."""
    gains = [
        (a - b) if way == MORE else (b - a) for a, b, way in zip(one, other, better, strict=True)
    ]
    return all(gain >= 0 for gain in gains) and any(gain > 0 for gain in gains)


@pytest.mark.parametrize("better", [*product((LESS, MORE), repeat=2)])
@pytest.mark.parametrize("seed", range(6))
def test_front_holds_the_points_that_none_dominates(better, seed):
    rng = random.Random(seed)
    span = rng.choice([3, 10, 10**6])  # few values give equal points
    points = [(rng.randrange(span), rng.randrange(span)) for _ in range(rng.randrange(1, 80))]
    expected = {
        number
        for number, point in enumerate(points)
        if not any(dominates(other, point, better) for other in points)
    }
    front_numbers = front(points, better)
    assert set(front_numbers) == expected and len(front_numbers) == len(expected)
    along = [points[number][0] for number in front_numbers]
    assert along == sorted(along, reverse=better[0] == MORE)


def test_no_points_have_no_front():
    assert front([], (LESS, LESS)) == []


def test_equal_points_are_both_on_the_front():
    assert front([(1, 2), (1, 2), (2, 2)], (LESS, LESS)) == [0, 1]
