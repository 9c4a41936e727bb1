"""Tests of the benchmarks: tables and targets of small or made-up runs."""

import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from spica.cli.main import app
from spica.sim.run.request.resolve import resolve

ROOT = Path(__file__).parents[3]


def bench(name):
    """Import a module of the benchmarks, which are not part of the package."""
    return import_module(f"bench.{name}")


def progress(sentence, done, total):
    pass


def run_bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_an_unknown_benchmark_is_refused():
    done = run_bench("gem")
    assert done.returncode == 2
    assert re.search(r"name must be one of area, [a-z_, ]+, runs, not gem$", done.stderr)


def test_targets_and_their_marks():
    target = bench("target").Target
    assert target(name="x", value=60, limit=60).met
    assert not target(name="x", value=61, limit=60).met
    assert target(name="x", value=61, limit=60, at_least=True).met
    result = {"targets": [target(name="depth", value=61, limit=60, unit="gates").as_dict()]}
    (outcome,) = bench("target").targets_of(result)
    row = [next(iter(column.cells)) for column in bench("target").target_table([outcome]).columns]
    assert row == ["MISSED", "depth", "61 gates", "<= 60 gates"]


def test_runs_of_small_presets():
    runs = bench("runs")
    result = [json.loads(json.dumps(part)) for part in runs.measure(True, progress)][-1]
    product, vectors = (row["figures"] for row in result["commands"])
    assert product["cycles"] < vectors["cycles"] and product["mac_utilization"] > 0.2
    assert product["cycles_per_processor_second"] > 0
    assert product["instructions.warp"] is vectors["mac_utilization"] is None
    assert [target["met"] for target in result["targets"]] == [True]
    (table,) = runs.tables(result)
    assert table.row_count == 2


@pytest.mark.parametrize("name", ["runs", "builds"])
def test_every_command_is_one_of_spica(monkeypatch, name):
    """The machine, the kernel and the options of each exist; sizes suit the kernel."""
    module, parsed = bench(name), []

    def passed(commands, columns, progress):
        for command in commands:
            words = shlex.split(command.line)
            parsed.append(app.parse_args(words, exit_on_error=False, print_error=False))
            if words[0] == "run":
                options = parsed[-1][1].kwargs["options"]
                resolve(options.request(words[1]))
            yield {"commands": [], "targets": []}

    monkeypatch.setattr(module, "measured", passed)
    assert list(module.measure(False, progress)) and len(parsed) > 10


def test_limits_of_a_command():
    limits = {"mac_utilization": 0.5, "memory.traffic.region.utilization": 0.85}
    command = bench("commands").Command(line="run copy", least=limits, most={"cycles": 10})
    traffic = {"traffic": {"region": {"utilization": 0.75}}}
    targets = command.targets({"mac_utilization": 0.5, "memory": traffic, "cycles": 11})
    assert [(target.value, target.met) for target in targets] == [
        *((0.5, True), (0.75, False), (11, False))
    ]
    assert next(iter(command.targets(dict.fromkeys(["mac_utilization"], 1)))).name == (
        "mac_utilization of run copy"
    )


def test_a_command_that_fails_ends_the_benchmark(tmp_path):
    command = bench("commands").Command(line="run gemm --preset none", cache="cache")
    with pytest.raises(SystemExit, match=r"spica run gemm --preset none must pass .* preset"):
        command.result(tmp_path)


@pytest.mark.full
def test_a_process_has_its_own_cache(tmp_path):
    command = bench("commands").Command(line="generate tiny_matrix -o verilog", cache="cache")
    outcome = command.result(tmp_path)
    assert outcome["modules"] > 10 and outcome["seconds"] > 0 < outcome["processor_seconds"]
    assert any((tmp_path / "cache").iterdir()) and (tmp_path / "verilog/tiny_matrix.v").exists()
