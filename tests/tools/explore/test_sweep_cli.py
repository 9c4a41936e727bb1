"""Tests of `spica sweep`: table, files, failed points, resumption after a kill, messages."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from spica.hw.presets import PRESETS
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.harness.dram import DramConfig
from support.command_line import refused, run_spica

SWEEP = "sweep vecadd --engine iss --size 50 --jobs 1"
POINTS = "--preset tiny --over core.l1d.mshrs=4,5 --over core.l1d.size=1024,2048"
#: Points of half a second, to be killed among.
LONG = "sweep vecadd --engine iss --size 2000000 --preset tiny --over core.l1d.mshrs=4,5,6,7,8"


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def records_of(cache):
    """Return the stored records of a cache with their times of change."""
    paths = [*cache.glob("sweep-*/record.json")]
    return {path: path.stat().st_mtime_ns for path in paths}


@pytest.mark.full
def test_table_has_a_row_per_point_in_order(cache, tmp_path, capsys):
    table, report = tmp_path / "t.csv", tmp_path / "t.json"
    assert run_spica(f"{SWEEP} {POINTS} --csv {table} --json {report}") == 0
    rows = rows_of(table)
    fields = [(row["core.l1d.mshrs"], row["core.l1d.size"]) for row in rows]
    assert fields == [("4", "1024"), ("4", "2048"), ("5", "1024"), ("5", "2048")]
    assert {row["status"] for row in rows} == {"pass"}
    result = json.loads(report.read_text())
    assert (result["kernel"], result["sizes"]) == ("vecadd", {"n": 50})
    assert [axis["field"] for axis in result["axes"]] == ["core.l1d.mshrs", "core.l1d.size"]
    assert [str(point["instructions"]) for point in result["points"]] == [
        row["instructions"] for row in rows
    ]
    assert result["metrics"]["instructions"]["better"] == "less"
    shown = capsys.readouterr().out
    assert "4 points: 4 pass" in shown
    assert re.search(r"tiny +5 +2048 +[\d,]+ +[\d.]+%", shown)


@pytest.mark.full
def test_figures_are_those_of_a_run(cache, tmp_path):
    table, result = tmp_path / "t.csv", tmp_path / "r.json"
    assert run_spica(f"{SWEEP} --preset tiny --csv {table}") == 0
    run = "run vecadd --preset tiny --engine iss --size 50"
    assert run_spica(f"{run} --json {result}") == 0
    (row,), run = rows_of(table), json.loads(result.read_text())
    assert int(row["instructions"]) == run["instructions"]["warp"]
    assert float(row["lane_utilization"]) == run["lane_utilization"]
    assert row["cycles"] == row["dram_read_bytes"] == ""


@pytest.mark.full
def test_illegal_points_are_kept_apart_with_their_reasons(cache, tmp_path, capsys):
    table = tmp_path / "t.csv"
    points = "--preset matrix tiny --over core.l1d.size=1000,1024"
    assert run_spica(f"{SWEEP} {points} --csv {table}") == 0
    rows = rows_of(table)
    assert [row["status"] for row in rows] == ["pass", "illegal", "illegal", "illegal"]
    assert [row["preset"] for row in rows] == ["tiny", "matrix", "matrix", "tiny"]
    assert "core is none in this config" in rows[1]["reason"]
    assert "must be" in rows[3]["reason"] and "1000" in rows[3]["reason"]
    shown = capsys.readouterr().out
    assert "points without a result" in shown and "4 points: 1 pass, 3 illegal" in shown


def test_predicted_points_are_those_of_the_model_and_are_not_stored(cache, tmp_path, capsys):
    table, report = tmp_path / "t.csv", tmp_path / "t.json"
    points = "--preset virgo tiny --over dram.latency=50,400"
    files = f"--csv {table} --json {report}"
    command = "sweep gemm --analytic --driver cores --size 96"
    assert run_spica(f"{command} {points} {files}") == 0
    rows = rows_of(table)
    assert [row["status"] for row in rows] == ["pass"] * 4
    assert all(int(row["least_cycles"]) > 0 for row in rows)
    assert [row["cycles"] for row in rows[2:]] == ["", ""]  # only limits
    config, traffic = PRESETS["virgo"], None
    for row, point in zip(rows[:2], json.loads(report.read_text())["points"], strict=False):
        memory = DramConfig(latency=int(row["dram.latency"]))
        expected = predict(config, product_of(config, m=96, n=96, k=96), memory)
        assert int(row["cycles"]) == expected.cycles
        used = 96**3 / (config.units[0].macs * expected.cycles)
        assert float(row["mac_utilization"]) == pytest.approx(used)
        counters = point["counters"]
        assert counters["dma_read_bytes"] == expected.traffic.dma_read_bytes
        assert counters["dram_written_bytes"] == expected.levels.dram_written_bytes
        assert sum(n for name, n in counters.items() if name[:7] == "cycles_") == expected.cycles
        assert traffic in (None, expected.traffic)
        traffic = expected.traffic
    assert int(rows[1]["cycles"]) > int(rows[0]["cycles"])
    assert records_of(cache) == {}
    assert "spica sweep gemm, predicted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "subject"),
    [
        ("vecadd --preset virgo", "vecadd"),
        ("gemm --preset virgo --driver host", "gemm --driver host"),
    ],
)
def test_only_products_and_attention_on_cores_are_predicted(cache, capsys, command, subject):
    assert run_spica(f"sweep {command} --analytic --size 64") == 2
    needed = "or attention with --driver cores"
    assert f"{needed}, not {subject}" in " ".join(capsys.readouterr().err.split())


def test_attention_is_predicted_with_its_mask_and_heads(cache, tmp_path):
    table, report = tmp_path / "t.csv", tmp_path / "t.json"
    sizes = "--size 200x64 --keys 300 --heads 4 --kv-heads 2 --causal"
    points = "--preset virgo ampere hopper tiny"
    command = f"sweep attention --analytic {points} {sizes}"
    assert run_spica(f"{command} --csv {table} --json {report}") == 1
    rows = rows_of(table)
    assert [row["status"] for row in rows] == ["pass", "pass", "pass", "refused"]
    for row, point in zip(rows[:3], json.loads(report.read_text())["points"], strict=False):
        options = {"queries": 200, "keys": 300, "heads": 4, "kv_heads": 2, "depth": 64}
        problem = AttentionProblem(**options, causal=True)
        config = PRESETS[row["preset"]]
        expected = predict_attention(config, problem)
        assert int(row["least_cycles"]) == expected.least_cycles
        counters = point["counters"]
        assert expected.traffic.active in counters.values()
        assert counters["least_cycles_unit"] == expected.limits["unit"]
    assert records_of(cache) == {}


def test_attention_with_other_data_is_not_predicted(cache, tmp_path):
    table = tmp_path / "t.csv"
    command = "sweep attention --preset hopper --analytic --data large"
    assert run_spica(f"{command} --csv {table}") == 1
    assert "needs random data, not large" in rows_of(table)[0]["reason"]


def test_a_stopped_point_does_not_stop_the_sweep(cache, tmp_path):
    table = tmp_path / "t.csv"
    points = "--preset tiny core --max-instructions 750"
    assert run_spica(f"{SWEEP} {points} --csv {table}") == 1
    rows = rows_of(table)
    assert [row["status"] for row in rows] == ["pass", "stopped"]
    assert rows[1]["reason"] and "\n" not in rows[1]["reason"]
    before = records_of(cache)
    assert run_spica(f"{SWEEP} {points} --csv {table}") == 1
    assert len(before) == 2 and records_of(cache) == before
    assert rows_of(table) == rows


@pytest.mark.full
def test_a_refused_run_is_not_stored(cache, tmp_path):
    table = tmp_path / "t.csv"
    command = "sweep sgemm --engine iss --size 4000000000 --preset tiny"
    assert run_spica(f"{command} --jobs 1 --csv {table}") == 1
    (row,) = rows_of(table)
    assert row["status"] == "refused" and "m must be between 1 and 8192" in row["reason"]
    assert records_of(cache) == {}


@pytest.mark.full
def test_stored_points_are_not_run_again(cache, tmp_path, capsys, monkeypatch):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    half = "--preset tiny --over core.l1d.mshrs=4,5"
    assert run_spica(f"{SWEEP} {half}") == 0
    before = records_of(cache)
    capsys.readouterr()
    assert run_spica(f"{SWEEP} {POINTS} --dry-run") == 0
    assert capsys.readouterr().out.count("stored") == 2
    assert records_of(cache) == before
    assert run_spica(f"{SWEEP} {POINTS} --csv {first}") == 0
    assert records_of(cache).items() > before.items()
    monkeypatch.setattr("spica.explore.sweep.sweep.workers", None)  # nothing is left for workers
    assert run_spica(f"{SWEEP} {POINTS} --csv {second}") == 0
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.full
def test_a_damaged_record_is_replaced(cache, tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    assert run_spica(f"{SWEEP} --preset tiny --csv {first}") == 0
    (record,) = records_of(cache)
    record.write_text("")
    assert run_spica(f"{SWEEP} --preset tiny --csv {second}") == 0
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(record.read_text())["status"] == "pass"


@pytest.mark.full
def test_a_sweep_killed_twice_continues(cache, tmp_path):
    """The table is that of a sweep that was not interrupted, and no finished point is repeated."""
    table = tmp_path / "t.csv"
    command = f"{sys.executable} -m spica.cli {LONG} --jobs 1 --csv {table}"
    for count in (1, 3):
        process = subprocess.Popen(command.split(), stderr=subprocess.DEVNULL)
        while len(records_of(cache)) < count and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.wait()
        before = records_of(cache)
        assert count <= len(before) < 5
        assert not table.exists()
    assert run_spica(f"{LONG} --jobs 2 --csv {table}") == 0
    assert records_of(cache).items() > before.items()
    killed = table.read_bytes()
    for record in records_of(cache):
        shutil.rmtree(record.parent)
    assert run_spica(f"{LONG} --jobs 1 --csv {table}") == 0
    assert table.read_bytes() == killed


@pytest.mark.full
def test_a_full_disk_ends_the_sweep_with_a_sentence(cache, tmp_path, capsys, monkeypatch):
    """Finished points are kept, and the next sweep continues with them."""
    table = tmp_path / "t.csv"
    real = os.replace

    def full(source, target):
        if "sweep-" in str(target) and len(records_of(cache)) == 2:
            raise OSError(28, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("spica.base.build_cache.os.replace", full)
        assert run_spica(f"{SWEEP} {POINTS} --csv {table}") == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "No space left on device" in said and said.startswith("spica: ")
    before = records_of(cache)
    assert len(before) == 2 and not table.exists()
    assert run_spica(f"{SWEEP} {POINTS} --csv {table}") == 0
    assert len(rows_of(table)) == 4 and records_of(cache).items() > before.items()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--over core.wraps=4", "unknown field 'core.wraps'; did you mean 'core.warps'?"),
        ("--over core.warps=few", "core.warps must be an integer, not 'few'"),
        ("--over core.l1d.size=1000", "no point of the sweep is legal"),
        ("--over dram.latency=9", "dram.latency does not apply to engine iss"),
        ("--jobs 0", "--jobs must be at least 1, not 0"),
        ("--preset tiny", "the presets must differ, and tiny is repeated"),
        ("--preset tinny", "unknown preset 'tinny'; did you mean 'tiny'?"),
        ("--gating random", "--gating does not apply to vecadd on engine iss"),
        ("--csv /dev/null/t.csv", "cannot write /dev/null/t.csv"),
        ("--scheduler tcp://127.0.0.1:9 --jobs 2", "--jobs does not apply"),
    ],
)
def test_bad_input_is_explained_in_one_sentence(cache, more, message, capsys):
    command = SWEEP.replace("--jobs 1", "--preset tiny")
    assert message in refused(capsys, f"{command} {more}")
    assert records_of(cache) == {}
