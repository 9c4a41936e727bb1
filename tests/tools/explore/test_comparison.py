"""Tests of the figures, the chart and the page of a comparison, from made-up results."""

import json
import re
from dataclasses import replace

import pytest

from spica.explore.charts.bars import CHARACTER, GAP, WIDTH
from spica.explore.charts.comparison import comparison_chart, comparison_page
from spica.explore.charts.files import svg
from spica.explore.points.plan import planned
from spica.explore.sweep.compared import comparable
from spica.explore.tables.comparison import Comparison
from spica.explore.tables.figure_definitions import PICOJOULES
from spica.explore.tables.figures import figures_of_rows, shown
from spica.explore.work.kernel_run import KernelRun
from spica.explore.work.record import FAIL
from spica.hw.presets import PRESETS
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.report.utilization import unit_section
from spica.sim.run.options import SimtOptions
from spica.sim.run.request.request import Request
from spica.sim.trace.palette import PALETTE
from support.browser import OVERFLOW, WIDTHS, opened
from support.charts import length_of, marks_of, texts_of
from support.results import DRAM, SIZES, made_up, row_of

UNIT = unit_section(100, {"multiply_adds": 60.0, "ragged": 15.0, "idle": 25.0}, 75)
OTHER = unit_section(300, {"multiply_adds": 100.0, "ragged": 200.0}, 300)
AREA = {"nand2_with_sram": 300.0, "nand2": 100.0, "sram_bits": 64, "depth": 40}


ROWS = [
    row_of(
        "one",
        made_up("one", cycles=100, polling=40, units={"matrix": UNIT}),
        AREA | {"groups": {"mesh": 200.0, "L2": 100.0}},
    ),
    row_of("a<b", made_up("a<b", cycles=300, polling=0, units={"matrix": UNIT, "matrix1": OTHER})),
    row_of("bad", made_up("bad", cycles=7, polling=0, units=None, verdict=FAIL)),
    row_of("cores", made_up("cores", cycles=50, polling=None, units=None)),
]
FIGURES = {(figure.section, figure.name): figure for figure in figures_of_rows(ROWS)}


def comparison_of(rows):
    """Return a comparison of rows."""
    run = KernelRun(
        kernel="gemm",
        driver="cores",
        preset="",
        config=PRESETS["tiny"],
        sizes=SIZES,
        product={},
        options=SimtOptions(engine="verilator", memory=DRAM),
    )
    return Comparison([replace(run, preset=row.preset) for row in rows], rows)


@pytest.mark.parametrize(
    ("options", "memory"),
    [
        ({}, DramConfig()),
        ({"dram_latency": 7}, DramConfig(latency=7)),
        ({"memory_latency": 3}, CoreMemoryConfig(latency=3, seed=1)),
        ({"engine": "iss"}, None),
    ],
)
def test_all_machines_have_the_same_memory(options, memory):
    """`core` alone would run with the simple memory, `tiny` with DRAM."""
    configs = {name: PRESETS[name] for name in ("core", "tiny")}
    plan = comparable(planned(Request(kernel="vecadd", size="9", **options), configs))
    runs = [point.run for point in plan.points]
    assert [run.options.memory for run in runs] == [memory, memory]
    assert (Comparison(runs, ROWS[:2]).memory["model"] == "functional") == (memory is None)


@pytest.mark.parametrize(
    ("place", "values"),
    [
        (("speed", "cycles"), [100, 300, None, 50]),
        (("speed", "operations_per_cycle"), [10.24, 1024 / 300, None, 20.48]),
        (("speed", "mac_active"), [0.75, (75 + 300) / 400, None, None]),
        (("instructions", "retired"), [100, 100, None, 100]),
        (("instructions", "not_polling"), [60, 100, None, None]),
        (("issue_slots", "memory"), [0.5, 0.5, None, 0.5]),
        (("matrix_units", "ragged"), [0.15, 215 / 400, None, None]),
        (("matrix_units", "idle"), [0.25, 25 / 400, None, None]),
        (("shared_memory", "total"), [60, 60, None, 60]),
        (("shared_memory", "lanes"), [20, 20, None, 20]),
        (("memory", "dram_read_bytes"), [640, 640, None, 640]),
        (("area", "depth"), [40, None, None, None]),
        (("groups", "mesh"), [200.0, None, None, None]),
    ],
)
def test_values_are_those_of_the_results(place, values):
    assert FIGURES[place].values == pytest.approx(values)


def test_lines_of_a_cache_count_with_their_bytes():
    config = PRESETS["tiny"]
    assert config.core is not None
    expected = 3 * config.core.l1i.line_bytes
    assert FIGURES["memory", "l1i_refill_bytes"].values[0] == expected
    beats = 10 * config.axi.beat_bytes
    assert FIGURES["memory", "dma_read_bytes"].values == [beats, beats, None, beats]


def test_shares_of_a_whole_sum_to_1():
    for section in ("issue_slots", "matrix_units"):
        parts = [figure for (own, _), figure in FIGURES.items() if own == section]
        for number in (0, 1):
            assert sum(part.values[number] for part in parts) == pytest.approx(1)
    # Reasons that no machine has are left out.
    assert ("issue_slots", "drain") not in FIGURES


def test_ratios_are_to_the_first_machine():
    assert FIGURES["speed", "cycles"].ratios == [1.0, 3.0, None, 0.5]
    assert set(FIGURES["issue_slots", "memory"].ratios) == {None}
    last_first = figures_of_rows(ROWS[2:])
    assert all(set(figure.ratios) == {None} for figure in last_first)


def test_a_value_is_shown_by_its_kind():
    kinds = [("speed", "cycles", 12345), ("speed", "mac_utilization", 0.5)]
    texts = [shown(FIGURES[section, name], value) for section, name, value in kinds]
    assert texts == ["12,345", "50.00 %"]
    assert shown(FIGURES["speed", "operations_per_cycle"], 2.5) == "2.500"
    assert shown(FIGURES["speed", "cycles"], None) == "-"
    energy = replace(FIGURES["speed", "cycles"], kind=PICOJOULES)
    cells = [shown(energy, value) for value in (1_694_928_012, 2.5e6, 999.4, 0)]
    assert cells == ["1.695 mJ", "2.5 uJ", "999.4 pJ", "0 pJ"]


def test_remarks_name_the_failure_and_the_memory():
    notes = comparison_of(ROWS).notes
    assert notes[0] == "bad: fail. c: 3 of 64 elements are wrong"
    memory = "the same memory: DRAM, 64 B/cycle, latency 100 cycles"
    assert notes[1:] == [f"All machines: engine verilator, driver cores, seed 1, {memory}."]


def test_areas_are_those_of_named_numerics():
    presets = ("matrix", "ampere", "core", "matrix")
    runs = [
        replace(run, config=PRESETS[preset])
        for run, preset in zip(comparison_of(ROWS).runs, presets, strict=True)
    ]
    comparison = Comparison(runs, ROWS)
    lines = comparison.markdown().splitlines()
    cells = "systolic_ws fp16 | virgo_hmma fp16 |  | - |  | systolic_ws fp16 |  |"
    at = lines.index(f"| numerics of products | {cells}")
    assert lines[at - 1].startswith("| **area** |")
    numerics = [machine["numerics"] for machine in comparison.report()["machines"]]
    assert numerics == [["systolic_ws fp16"], ["virgo_hmma fp16"], [], ["systolic_ws fp16"]]
    shown_texts = texts_of(svg(comparison_chart(comparison)))
    assert {
        "numerics of products: systolic_ws fp16 (one, cores)",
        "numerics of products: virgo_hmma fp16 (a<b)",
    } <= set(shown_texts)


def test_markdown_has_a_column_for_each_machine():
    lines = comparison_of(ROWS).markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in table} == {9}
    assert "| cycles | 100 | 300 | x3.00 | - |  | 50 | x0.50 |" in table
    assert "| **issue slots** |  |  |  |  |  |  |  |" in table


def bars_of(rows):
    """Return length and colour of each bar of a chart by its row and its machine."""
    bars = {}
    for values, bar in marks_of(svg(comparison_chart(comparison_of(rows))), "bar"):
        place = values["label"], values["side"], values["figure"]
        bars[place] = length_of(bar), bar.get("fill")
    return bars


def test_bars_have_the_lengths_of_their_values():
    bars = bars_of(ROWS)
    shares, counts = (WIDTH - GAP - CHARACTER * len(text) for text in ("50.00 %", "100"))
    assert bars["memory", "one", "50.00 %"][0] == pytest.approx(shares)
    assert bars["issued", "a<b", "25.00 %"][0] == pytest.approx(shares / 2)
    assert bars["retired", "cores", "100"][0] == pytest.approx(counts)
    assert bars["mesh", "one", "200"][0] == pytest.approx(counts)
    assert bars["L2", "one", "100"][0] == pytest.approx(counts / 2)
    assert bars["a<b", "a<b", "300"][0] == pytest.approx(3 * bars["one", "one", "100"][0], rel=0.01)


def test_a_machine_has_one_colour():
    colours = {}
    for (_, machine, _), (_, colour) in bars_of(ROWS).items():
        colours.setdefault(machine, set()).add(colour)
    names = [row.preset for row in ROWS if row.preset != "bad"]
    assert {name: colours[name] for name in names} == {
        name: {PALETTE[number]}
        for number, name in enumerate(row.preset for row in ROWS)
        if name != "bad"
    }


def test_main_figures_are_first():
    texts = texts_of(svg(comparison_chart(comparison_of(ROWS))))
    titles = ["cycles", "MAC utilisation", "NAND2, with SRAM", "warp instructions", "bytes of DRAM"]
    assert [text for text in texts if text in titles] == titles


def test_polling_is_apart_if_every_machine_has_an_account_of_it():
    places = {place[:2] for place in bars_of(ROWS[:3])}
    assert {("polling", "one"), ("without polling", "one")} <= places
    assert ("retired", "one") not in places


def test_a_chart_without_figures_says_so():
    assert "no machine has a figure" in svg(comparison_chart(comparison_of(ROWS[2:3])))


def test_json_has_each_figure_and_each_result():
    report = json.loads(json.dumps(comparison_of(ROWS).report(), allow_nan=False))
    assert [machine["name"] for machine in report["machines"]] == ["one", "a<b", "bad", "cores"]
    assert report["machines"][2]["result"]["cycles"] == 7
    assert report["memory"]["parameters"]["latency"] == 100
    assert len(report["figures"]) == len(FIGURES)
    cycles = next(figure for figure in report["figures"] if figure["name"] == "cycles")
    assert (cycles["values"], cycles["ratios"]) == ([100, 300, None, 50], [1, 3, None, 0.5])


def test_page_has_charts_table_and_remarks():
    page = comparison_page(comparison_of(ROWS))
    text = page.partition("<script>\n")[0].replace("https://vega.github.io/schema", "")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|\burl\(|\bfetch\(", text)
    assert text.index("opening") < text.index('"cycles"') < text.index('"warp instructions"')
    assert "<td>cycles</td><td>100</td><td>300</td><td>x3.00</td>" in text
    assert '<tr class="head"><th colspan="8">issue slots</th></tr>' in text
    assert "<th>a&lt;b</th>" in text and '<p class="notes">bad: fail. ' in text


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_page_opens_with_the_main_figures(browser, tmp_path, width):
    """They are as wide as the window, in the colours of the machines."""
    file = tmp_path / "page.html"
    file.write_text(comparison_page(comparison_of(ROWS)))
    with opened(browser, file, width) as page:
        boxes = [box.bounding_box() for box in page.locator(".opening .chart").all()]
        assert min(box["x"] for box in boxes) < 20
        assert max(box["x"] + box["width"] for box in boxes) > width - 40
        assert page.evaluate(OVERFLOW) == 0
        bar = page.locator(".opening [aria-roledescription=bar]").first
        assert bar.get_attribute("fill") == PALETTE[0]
        bar.hover()
        tip = page.locator("#vg-tooltip-element.visible").inner_text()
        assert "one" in tip and "100" in tip
        texts = page.locator(".chart text").all_text_contents()
        assert "x3.00" in page.locator(".scroll").inner_text() and "50.00 %" in texts
