"""Tests of `spica compare`: table, files, failed machines, stored work, messages."""

import json
import re
import time

import pytest
from jsonschema import Draft202012Validator

import spica
from spica.explore.work.area_measurement import AreaMeasurement
from spica.explore.work.kernel_run import KernelRun
from spica.explore.work.record import Record
from spica.sim.report.result import result_schema
from support.command_line import message_of, run_spica

COMPARE = "compare vecadd --engine iss --size 50 --jobs 1"
QUICK = f"{COMPARE} --no-area"
TWO = "--preset tiny core"


def compared(tmp_path, command, code=0):
    """Return the JSON of a comparison."""
    report = tmp_path / "c.json"
    assert run_spica(f"{command} --json {report}") == code
    return json.loads(report.read_text())


def value_of(report, section, name):
    """Return the values of a figure."""
    (entry,) = [
        figure
        for figure in report["figures"]
        if (figure["section"], figure["name"]) == (section, name)
    ]
    return entry["values"]


def test_a_column_per_machine_has_the_figures_of_its_run(cache, tmp_path, capsys):
    report = compared(tmp_path, f"{QUICK} {TWO}")
    shown = capsys.readouterr().out
    assert (report["schema"], report["schema_version"]) == ("spica.comparison", 1)
    assert (report["kernel"], report["sizes"]) == ("vecadd", {"n": 50})
    assert [machine["name"] for machine in report["machines"]] == ["tiny", "core"]
    counts = []
    for machine in report["machines"]:
        Draft202012Validator(result_schema()).validate(machine["result"])
        single = tmp_path / f"{machine['name']}.json"
        run = f"run vecadd --engine iss --size 50 --preset {machine['name']}"
        assert run_spica(f"{run} --json {single}") == 0
        counts.append(json.loads(single.read_text())["instructions"]["warp"])
        assert machine["result"]["instructions"]["warp"] == counts[-1]
    assert value_of(report, "instructions", "retired") == counts
    ratio = f"x{counts[1] / counts[0]:.2f}"
    assert re.search(rf"retired +{counts[0]:,} +{counts[1]:,} +{ratio}", shown)
    assert re.search(r"verdict +pass +pass", shown)
    # The instruction-set model has no cycles, and no row without a value is shown.
    assert not re.search("cycles|depth|NAND2", shown)
    assert "All machines: engine iss, driver cores, seed 1, no timing." in shown


@pytest.mark.full
def test_a_preset_may_be_repeated_with_settings(cache, tmp_path):
    machines = "--preset tiny --preset tiny,core.warps=8,core.l1d.size=2048"
    report = compared(tmp_path, f"{QUICK} {machines} --set core.threads=8")
    first, second = (machine["result"]["config"]["core"] for machine in report["machines"])
    assert (first["warps"], second["warps"]) == (4, 8)
    assert second["l1d"]["size"] == 2048 != first["l1d"]["size"]
    assert first["threads"] == second["threads"] == 8
    names = [machine["name"] for machine in report["machines"]]
    assert names == ["tiny", "tiny,core.warps=8,core.l1d.size=2048"]


@pytest.mark.full
def test_files_have_the_figures(cache, tmp_path, capsys):
    page, chart, html = (tmp_path / name for name in ("t.md", "t.svg", "t.html"))
    assert run_spica(f"{QUICK} {TWO} --markdown {page} --plot {chart}") == 0
    shown = capsys.readouterr().out
    (cells,) = re.findall(
        r"^\| retired \| ([\d,]+) \| ([\d,]+) \| (\S+) \|$", page.read_text(), re.M
    )
    assert re.search(r"retired +" + " +".join(cells), shown)
    assert chart.read_text().startswith("<svg ") and ">warp instructions<" in chart.read_text()
    assert run_spica(f"{QUICK} {TWO} --plot {html}") == 0
    assert html.read_text().count('<div class="chart">') == 2


@pytest.mark.full
def test_finished_work_is_not_repeated(cache, tmp_path, monkeypatch):
    first = compared(tmp_path, f"{QUICK} {TWO}")
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", None)  # nothing is left for workers
    monkeypatch.setattr(KernelRun, "require_possible", None)
    assert compared(tmp_path, f"{QUICK} {TWO}") == first


def test_areas_are_beside_the_runs(cache, tmp_path, monkeypatch, capsys):
    """Synthesis is replaced: areas are those of the numbers of warps."""
    monkeypatch.setattr(AreaMeasurement, "record", area_of_warps)
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", in_this_process)
    report = compared(tmp_path, f"{COMPARE} --preset tiny tiny,core.warps=8")
    assert value_of(report, "area", "depth") == [4, 8]
    assert value_of(report, "groups", "L1D") == [40.0, 80.0]
    assert value_of(report, "groups", "front end") == [None, 1.0]
    assert [machine["area"]["nand2"] for machine in report["machines"]] == [400, 800]
    shown = capsys.readouterr().out
    assert re.search(r"L1D +40 +80 +x2.00", shown) and re.search(r"front end +- +1 *$", shown, re.M)


def area_of_warps(measurement, progress):
    """Return a record of an area."""
    warps = measurement.config.core.warps
    groups = {"L1D": 10.0 * warps} | ({"front end": 1.0} if warps == 8 else {})
    sums = {"nand2_with_sram": 200 * warps, "nand2": 100 * warps, "sram_bits": 0, "depth": warps}
    return Record(status="pass", figures={}, result=sums | {"groups": groups})


class in_this_process:  # noqa: N801 - stands for a function
    """Executor that works at once."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        from concurrent.futures import ThreadPoolExecutor

        self.executor = ThreadPoolExecutor(1)
        return self.executor

    def __exit__(self, *_):
        self.executor.shutdown()


@pytest.mark.full
def test_a_stopped_machine_has_its_reason_and_no_figures(cache, tmp_path, capsys):
    report = compared(tmp_path, f"{QUICK} {TWO} --max-instructions 750", code=1)
    assert [machine["status"] for machine in report["machines"]] == ["pass", "stopped"]
    assert report["machines"][1]["result"]["status"] == "stopped"
    values = value_of(report, "instructions", "retired")
    assert values[0] > 0 and values[1] is None
    shown = capsys.readouterr().out
    assert re.search(r"verdict +pass +stopped", shown) and re.search(
        r"retired +\d+ +- *$", shown, re.M
    )
    assert f"core: stopped. {report['machines'][1]['reason']}" in " ".join(shown.split())


def test_a_wrong_value_fails_its_machine(cache, tmp_path, monkeypatch):
    monkeypatch.setattr("spica.explore.work.kernel_run.run_workload", wrong_on_core)
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", in_this_process)
    report = compared(tmp_path, f"{QUICK} {TWO}", code=1)
    assert [machine["status"] for machine in report["machines"]] == ["pass", "fail"]
    assert report["machines"][1]["reason"] == "z: 3 of 50 elements are wrong"
    assert value_of(report, "instructions", "retired")[1] is None


def wrong_on_core(workload, preset, *arguments, progress):
    """Return the result of a run, with wrong elements on `core`."""
    from spica.sim.run.workload import run_workload

    result = run_workload(workload, preset, *arguments)
    if preset == "core":
        result["check"]["verdict"] = "fail"
        result["check"]["buffers"]["z"]["wrong"] = 3
    return result


def test_the_best_of_each_measure_stands_first(cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(AreaMeasurement, "record", area_of_warps)
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", in_this_process)
    compared(tmp_path, f"{COMPARE} --preset tiny tiny,core.warps=8 tiny,core.warps=2")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "best of 3 machines, and its ratio to the first"
    area = next(line for line in lines[:10] if "NAND2, with SRAM" in line)
    assert area.split() == ["NAND2,", "with", "SRAM", "tiny,core.warps=2", "400", "x0.50"]
    assert lines.index("") <= 10
    # One machine is no comparison.
    compared(tmp_path, f"{QUICK} --preset tiny")
    assert "best of" not in capsys.readouterr().out


def test_machine_and_step_are_named(cache, monkeypatch):
    reported = []

    def work(run, progress):
        progress("compiling the model", 0, 4)
        progress("compiling the model", 1, 4)
        time.sleep(0.2)
        return Record(status="refused", reason="no result")

    monkeypatch.setattr(KernelRun, "record", work)
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", in_this_process)
    monkeypatch.setattr("spica.explore.sweep.sweep.PERIOD", 0.05)
    options = {"engine": "iss", "area": False, "progress": lambda *step: reported.append(step)}
    spica.compare("vecadd", ["tiny", "core"], n=50, **options)
    steps = list(dict.fromkeys(reported))
    assert ("tiny: compiling the model", 0, 2) in steps
    assert ("core: compiling the model", 1, 2) in steps
    assert steps[-1] == ("sweep", 2, 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--preset tiny matrix", "vecadd needs cores"),
        ("--preset tiny tinny", "unknown preset 'tinny'; did you mean 'tiny'?"),
        ("--preset tiny tiny", "the machines of a comparison must differ, and tiny is"),
        ("--preset tiny,core.wraps=8", "did you mean 'core.warps'"),
        ("--preset tiny,core.warps", "as in virgo,matrix.rows=8, not 'tiny,core.warps'"),
        ("--preset tiny,dram.latency=9", "all machines of a comparison have the same one"),
        ("--preset tiny --jobs 0", "--jobs must be at least 1, not 0"),
        ("--preset tiny --plot x.gif", "--plot must be a file with suffix .svg or .png"),
        ("--preset tiny --gating random", "--gating does not apply to vecadd"),
        ("--preset tiny --markdown /dev/null/t", "cannot write /dev/null/t"),
        ("--preset tiny -m 4", "sizes must be given"),
    ],
)
def test_bad_input_is_explained_before_anything_runs(cache, more, message, capsys, monkeypatch):
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", None)
    assert run_spica(f"{QUICK.replace('--jobs 1', '')} {more}") == 2
    said = capsys.readouterr()
    assert said.out == "" and message in said.err
    assert said.err.splitlines()[-1].startswith("spica: ")


def test_sizes_are_checked_before_anything_is_built(cache, capsys, monkeypatch):
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", None)
    command = "compare sgemm --engine iss --size 4000000000 --no-area"
    assert "m must be between 1 and 8192" in message_of(capsys, f"{command} {TWO}")


def test_a_kernel_of_the_matrix_unit_needs_one(cache, capsys, monkeypatch):
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", None)
    command = "compare gemm --size 16 --no-area --preset tiny core"
    assert "needs a matrix unit" in message_of(capsys, command)
