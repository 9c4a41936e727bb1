"""Tests of reproductions of published tables, from made-up results."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from spica.cli.main import COMMANDS, main
from spica.explore.charts.bars import stacked_charts
from spica.explore.charts.files import svg
from spica.explore.reproduce import reproduced
from spica.explore.reproduce.definitions import REPRODUCTIONS
from spica.explore.reproduce.energy_definitions import COMPONENTS, CORE_STAGES, MATRIX_PARTS
from spica.explore.reproduce.experiments import EXPERIMENTS
from spica.explore.reproduce.page import reproduction_page
from spica.explore.reproduce.published import DESIGNS, SIZES
from spica.explore.reproduce.reproduced import Reproduced
from spica.explore.reproduce.runs import UNITS
from spica.explore.work.record import FAIL, PASS
from spica.hw.presets import PRESETS
from spica.synth.groups import GROUPS
from support.browser import OVERFLOW, WIDTHS, opened
from support.charts import texts_of
from support.command_line import refused
from support.results import made_up, row_of

#: Of each design: MAC utilisation, warp instructions, and those of polling loops.
MEASURED = {
    "volta": (0.7, 1000, 0),
    "ampere": (0.8, 900, 100),
    "hopper": (0.9, 200, 40),
    "virgo": (0.95, 20, 10),
    "virgo_fp32": (0.98, 30, 10),
    "virgo_fp32, O overwritten": (0.99, 30, 10),
    "ampere_fp32": (0.8, 900, 0),
    **dict.fromkeys(UNITS, (0.6, 50, 0)),
}
#: Of each design: area with SRAM, and of the shared memory.
AREAS = {"volta": (400, 40), "ampere": (500, 50), "hopper": (250, 25), "virgo": (200, 30)}
#: Energies in pJ by group, and power in mW, of each design.
ENERGIES = {
    "volta": ({"front end": 30, "tensor": 60, "shared memory": 20, "L2": 10}, 4),
    "ampere": ({"front end": 40, "LSU": 20, "tensor": 100, "shared memory": 40}, 5),
    "hopper": ({"front end": 20, "tensor": 50, "accumulator": 10, "shared memory": 20}, 4),
    "virgo": ({"front end": 10, "mesh": 25, "accumulator": 5, "shared memory": 10}, 3),
    "virgo_fp32": ({"front end": 20, "mesh": 60, "L1D": 20}, 6),
    "ampere_fp32": ({"front end": 200, "tensor": 40, "DMA": 10}, 5),
}
#: Cycles of each matrix unit, and its utilisation, with one unit or both.
PAIRS = {
    UNITS[0]: {"matrix": (1000, 0.9)},
    UNITS[1]: {"matrix1": (500, 0.5)},
    UNITS[2]: {"matrix": (1100, 0.8), "matrix1": (1100, 0.2)},
}


def outcome(run, verdict=PASS):
    """Return the row of a run."""
    utilization, warp, polling = MEASURED[run.preset]
    result = made_up(run.preset, cycles=100, polling=polling, units=None, verdict=verdict)
    result["mac_utilization"] = utilization
    result["instructions"]["warp"] = warp
    if run.preset in PAIRS:
        result["config"] = dataclasses.asdict(run.config)
        result["matrix_units"] = {
            name: {"cycles": cycles, "mac_utilization": used, "mac_active": used, "breakdown": {}}
            for name, (cycles, used) in PAIRS[run.preset].items()
        }
    if run.preset in ENERGIES:
        groups, power = ENERGIES[run.preset]
        sums = {group: {"total_pj": picojoules} for group, picojoules in groups.items()}
        result["energy"] = {
            **{"total_pj": sum(groups.values()), "pj_per_mac": 1.0, "energy_delay_js": 1.0},
            **{"power_mw": power, "by_group": sums, "fit": None},
        }
    total, shared = AREAS.get(run.preset, (0, 0))
    areas = dict.fromkeys(("nand2", "sram_bits", "depth"), 1) | {"nand2_with_sram": total}
    return row_of(run.preset, result, areas | {"groups": {"shared memory": shared}})


def reproduced_of(name, sizes=SIZES, failed=()):
    """Return a reproduction in which some designs fail."""
    table = REPRODUCTIONS[name]
    runs = table.runs(sizes)
    rows = [outcome(run, FAIL if run.preset in failed else PASS) for run in runs]
    return Reproduced(table, runs, rows)


def entries_of(reproduction, label):
    """Return the measured and the published figures of a line."""
    own = [entry for entry in reproduction.entries if entry.label == label]
    return [entry.ours for entry in own], [entry.published for entry in own]


def test_utilisations_stand_beside_those_of_table_3():
    reproduction = reproduced_of("table3")
    assert entries_of(reproduction, "Volta-style") == ([0.7] * 3, [0.256, 0.303, 0.303])
    assert entries_of(reproduction, "Virgo") == ([0.95] * 3, [0.661, 0.779, 0.865])
    assert dict(reproduction.lines())["Hopper-style"][:2] == ["90.00 %", "60.50 %"]


def test_reads_of_shared_memory_are_in_mib():
    reproduction = reproduced_of("table4", SIZES[:1])
    counted = (10 + 5) * 4 / 2**20
    assert entries_of(reproduction, "Hopper-style") == ([counted], [4.0])


def test_instructions_are_shares_of_those_of_another_design():
    reproduction = reproduced_of("instructions", (512,))
    assert entries_of(reproduction, "Virgo to Volta-style") == ([20 / 1000], [0.005])
    assert entries_of(reproduction, "Virgo to Hopper-style, without polling") == (
        [10 / 160],
        [None],
    )


def test_areas_stand_beside_those_of_figure_7():
    reproduction = reproduced_of("figure7", SIZES[:1])
    assert entries_of(reproduction, "Virgo to Volta-style") == ([0.5], [0.999])
    assert entries_of(reproduction, "Virgo to Hopper-style") == ([0.8], [1.03])
    assert entries_of(reproduction, "Virgo to Ampere-style") == ([0.4], [None])
    assert entries_of(reproduction, "shared memory of Virgo") == ([0.15], [0.055])


def test_two_units_are_compared_at_once_and_one_after_the_other():
    reproduction = reproduced_of("heterogeneous", SIZES[:1])
    first, second = (unit.macs for unit in PRESETS["virgo_hetero"].units)
    apart = (900 * first + 250 * second) / (1000 * first + 500 * second)
    both = (0.8 * first + 0.2 * second) / (first + second)
    assert entries_of(reproduction, "one after the other") == ([pytest.approx(apart)], [0.597])
    assert entries_of(reproduction, "both at once") == ([pytest.approx(both)], [0.595])
    assert [run.product["units"] for run in reproduction.runs] == [(0, 1), (0,), (1,)]
    assert {run.config for run in reproduction.runs} == {PRESETS["virgo_hetero"]}


def test_power_and_energy_stand_beside_those_of_figure_8():
    reproduction = reproduced_of("figure8", (512,))
    assert entries_of(reproduction, "power, Virgo to Ampere-style") == (
        [3 / 5],
        [pytest.approx(0.327)],
    )
    assert entries_of(reproduction, "energy, Virgo to Hopper-style") == (
        [0.5],
        [pytest.approx(0.675)],
    )
    assert entries_of(reproduction, "energy, Virgo to Volta-style") == ([50 / 120], [None])
    assert all(run.energy is not None for run in reproduction.runs)


def test_parts_of_the_energy():
    components = reproduced_of("figure9", (256,))
    assert entries_of(components, "Virgo: shared memory") == ([0.2], [0.068])
    assert entries_of(components, "Ampere-style: cores") == ([60 / 200], [None])
    shared = entries_of(components, "energy of shared memory, Virgo to Hopper-style")
    assert shared == ([0.5], [pytest.approx(0.59)])
    cores = reproduced_of("figure10", (256,))
    assert entries_of(cores, "Ampere-style: load and store")[0] == [pytest.approx(1 / 3)]
    assert entries_of(cores, "energy of the cores, Virgo to Ampere-style")[0] == [1 / 6]
    units = reproduced_of("figure11", (256,))
    assert entries_of(units, "Hopper-style: accumulator")[0] == [pytest.approx(1 / 6)]
    assert entries_of(units, "energy of the matrix units, Virgo to Ampere-style")[0] == [0.3]


def test_energy_of_attention_stands_beside_figure_12():
    reproduction = reproduced_of("figure12", (1024,))
    energy = entries_of(reproduction, "energy, Virgo, FP32 to Ampere-style, FP32")
    assert energy == ([100 / 250], [pytest.approx(0.494)])
    assert entries_of(reproduction, "Ampere-style, FP32: cores")[0] == [0.8]


def test_components_are_all_groups():
    for parts in (COMPONENTS, {**CORE_STAGES, **MATRIX_PARTS}):
        groups = [group for names in parts.values() for group in names]
        assert len(groups) == len(set(groups))
    assert {group for names in COMPONENTS.values() for group in names} == set(GROUPS)


def test_a_failed_design_has_a_reason_in_place_of_figures():
    reproduction = reproduced_of("instructions", (256,), failed=("hopper",))
    assert not reproduction.is_passed
    assert entries_of(reproduction, "Virgo to Hopper-style") == ([None], [0.08])
    assert entries_of(reproduction, "Virgo to Volta-style")[0] == [0.02]
    assert reproduction.notes[0] == "hopper, 256: fail. c: 3 of 64 elements are wrong"
    assert dict(reproduction.lines())["Virgo to Hopper-style"] == ["-", "8.00 %"]


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_reports_have_every_figure(name):
    reproduction = reproduced_of(name, REPRODUCTIONS[name].sizes, failed=("ampere",))
    report = json.loads(json.dumps(reproduction.report(), allow_nan=False))
    assert report["figures"] == [dataclasses.asdict(entry) for entry in reproduction.entries]
    text = reproduction.markdown()
    for label, cells in reproduction.lines():
        assert f"| {label} | {' | '.join(cells)} |" in text
    texts = texts_of(svg(stacked_charts(reproduction.title, reproduction.charts())))
    for size in REPRODUCTIONS[name].sizes:
        assert reproduction.table.head(size) in texts
    assert {reproduction.shown(entry.ours) for entry in reproduction.entries} <= set(texts)


@pytest.fixture
def planned(monkeypatch):
    """Return the list of runs that are carried out."""
    planned = []

    def sweep(plan, **_):
        planned.extend(point.run for point in plan.points)
        return [outcome(point.run) for point in plan.points]

    monkeypatch.setattr(reproduced, "sweep", sweep)
    return planned


def test_a_quick_table_leaves_out_the_largest_products(planned, capsys):
    assert main(["reproduce", "table3", "--quick"]) == 0
    assert {run.sizes["k"] for run in planned} == {256, 512}
    assert [run.preset for run in planned[:4]] == list(DESIGNS)
    printed = capsys.readouterr().out
    assert "86.50 %" not in printed
    assert "77.90 %" in printed


def test_attention_stands_beside_the_published_figures(planned, capsys):
    assert main(["reproduce", "attention"]) == 0
    assert {tuple(run.sizes.items()) for run in planned} == {(("queries", 1024), ("depth", 64))}
    assert [run.product for run in planned if "overwritten" in run.preset] == [{"overwrites": True}]
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ["Virgo,", "FP32", "98.00", "%", "65.70", "%"] in lines
    assert ["Ampere-style,", "FP32", "80.00", "%", "35.10", "%"] in lines
    assert "DRAM reads, bytes" in printed
    assert main(["reproduce", "attention", "--quick"]) == 0
    assert planned[-1].sizes["queries"] == 256


@pytest.mark.full
def test_all_tables_are_on_one_page(monkeypatch, capsys, tmp_path):
    measured = []

    def sweep(plan, *, has_area, **_):
        measured.extend(point.run.preset for point in plan.points if has_area)
        return [outcome(point.run) for point in plan.points]

    monkeypatch.setattr(reproduced, "sweep", sweep)
    page, report = tmp_path / "p.html", tmp_path / "r.json"
    command = ["reproduce", "all", "--quick", "--html", str(page)]
    assert main([*command, "--json", str(report)]) == 0
    assert measured == ["virgo", "volta", "ampere", "hopper"]
    text = page.read_text()
    for name, table in REPRODUCTIONS.items():
        assert f"<code>spica reproduce {name}</code>" in text
        assert f'<section id="{name}"><h2>{table.title}</h2>' in text
        assert all(f"<td>{line.label}</td>" in text for line in table.lines)
    assert "<td>60.50 %</td>" in text and "Kim et al." in text and "@BODY@" not in text
    tables = json.loads(report.read_text())["tables"]
    assert [table["name"] for table in tables] == list(REPRODUCTIONS)
    assert main(command) == 0
    assert f"Page: {page}" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize("width", WIDTHS)
def test_page_of_tables(browser, tmp_path, width):
    file = tmp_path / "page.html"
    names = ("table3", "figure7")
    file.write_text(reproduction_page([reproduced_of(name) for name in names]))
    with opened(browser, file, width) as page:
        assert page.evaluate(OVERFLOW) == 0
        charts = len(REPRODUCTIONS["table3"].sizes) + len(REPRODUCTIONS["figure7"].sizes)
        assert page.locator(".chart svg").count() >= charts
        page.locator("nav a").last.click()
        assert page.locator("#figure7").bounding_box()["y"] < 800
        page.locator("#figure7 > details > summary").first.click()
        assert page.locator("#figure7 > details table").first.is_visible()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("all --as-published", "--as-published does not apply to all; leave it out"),
        ("all --plot x.svg", "--plot does not apply to all"),
        ("table5", "unknown table 'table5'; did you mean 'table"),
        ("table3 --plot x.gif", "--plot must be a file with suffix .svg or .png, not x.gif"),
        ("table3 --jobs 0", "--jobs must be at least 1, not 0"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, capsys):
    assert message in refused(capsys, f"reproduce {arguments}")


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_differences_name_experiments_that_exist(name):
    """Tables with published figures that differ name an experiment, in their notes."""
    has_published = any(line.published for line in REPRODUCTIONS[name].lines)
    assert (name in EXPERIMENTS) == ((has_published and name != "table4") or name == "figure11")
    for sentence in EXPERIMENTS.get(name, ()):
        root = Path(__file__).parents[3]
        for command in re.findall(r"spica (\w+)", sentence):
            assert command in COMMANDS
        for table in re.findall(r"spica reproduce (\w+)", sentence):
            assert table in REPRODUCTIONS
        for module in re.findall(r"bench\.(\w+)", sentence):
            assert (root / "bench" / f"{module}.py").exists()
        for page, head in re.findall(r"(docs/\w+\.md)(?:#([a-z-]+))?", sentence):
            heads = re.findall(r"^#+ (.*)$", (root / page).read_text(), re.MULTILINE)
            assert not head or head in [
                head_of_table.lower().replace(" ", "-") for head_of_table in heads
            ]
