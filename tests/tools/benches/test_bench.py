"""Tests of the benchmarks: tables and targets of small or made-up runs."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bench(monkeypatch):
    """Import modules of the benchmarks, which are not part of the package."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: import_module(f"bench.{name}")


def tell(sentence, done, total):
    pass


def run_bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_an_unknown_benchmark_is_refused():
    done = run_bench("gem")
    assert done.returncode == 2
    assert re.search(r"name must be one of budgets, [a-z_, ]+, virgo, not gem$", done.stderr)


def test_targets_and_their_marks(bench):
    target = bench("target").Target
    assert target(name="x", value=60, limit=60).met
    assert not target(name="x", value=61, limit=60).met
    assert target(name="x", value=61, limit=60, at_least=True).met
    result = {"targets": [target(name="depth", value=61, limit=60, unit="gates").as_dict()]}
    (found,) = bench("target").targets_of(result)
    row = [next(iter(column.cells)) for column in bench("target").target_table([found]).columns]
    assert row == ["MISSED", "depth", "61 gates", "<= 60 gates"]


def test_utilisation_of_runs_on_the_small_preset(bench, monkeypatch):
    gemm = bench("gemm")
    monkeypatch.setattr(gemm, "PRESET", "tiny_matrix")
    monkeypatch.setattr(gemm, "SIZES", (16,))
    monkeypatch.setattr(gemm, "LEAST", {16: 0.99})
    result = [json.loads(json.dumps(part)) for part in gemm.measure(True, tell)][-1]
    assert [run["options"]["formats"]["c"] for run in result["runs"]] == ["fp16", "fp32"]
    utilisation, wrong = bench("target").targets_of(result)
    assert not utilisation.met  # the product is far too small
    assert wrong.met and wrong.value == 0
    table, _ = gemm.tables(result)
    assert table.row_count == 2


@pytest.mark.full
def test_speed_of_the_small_preset(bench, monkeypatch):
    speed = bench("speed")
    monkeypatch.setattr(speed, "PRESET", "tiny_matrix")
    busy = speed.busy(16, "gated")
    idle = speed.idle(5_000, "gated")
    assert idle["cycles"] >= 5_000
    assert idle["clocked"]["matrix"] < 100 < busy["clocked"]["matrix"]
    assert busy["cycles_per_processor_second"] > 0
    result = {
        "preset": "tiny_matrix",
        "compiler": "a",
        "speed": {"busy, gated": busy, "idle": idle},
    }
    assert len(speed.targets(result)) == 1
    simulated, once = speed.tables(result)
    assert (simulated.row_count, once.row_count) == (2, 0)


def test_shared_memory_beside_its_definition(bench):
    shared = bench("shared")
    row = {"degree": 2, "accesses": 20, "least": 2, "most": 2}
    beside = {"name": "lanes alone", "expected": {"narrow": 32}, "measured": {"narrow": 32.0}}
    found = {"preset": "tiny", "cycles": 9, "read": 1, "write": 2, "narrow": 3, "row": 4}
    rule = {"subbanks": 8, "name": "rows", "expected": {"row": 1}, "measured": {"row": 1.0}}
    request = {"ports": 2, "name": "a row", "requests": 5, "row": True, "cycles": 1, "as_stated": 5}
    result = {
        "conflicts": [row],
        "strides": {"accesses": 7, "as_expected": 7},
        "together": [beside],
        "rules": [rule],
        "requests": [request],
        "stress": [found],
    }
    assert all(target["met"] for target in shared.targets(result))
    assert [table.row_count for table in shared.tables(result)] == [1, 1, 1, 1, 1]
    worse = {
        "conflicts": [row | {"most": 3}],
        "strides": {"accesses": 7, "as_expected": 5},
        "together": [beside | {"measured": {}}],
        "rules": [rule | {"measured": {"row": 0.5}}, rule],
        "requests": [request | {"as_stated": 3}],
    }
    assert [target["value"] for target in shared.targets(worse)] == [3, 1, 1, 2]


@pytest.mark.slow
def test_memory_on_the_small_preset(bench, monkeypatch):
    memory = bench("memory")
    monkeypatch.setattr(memory, "PRESET", "tiny")
    found = [json.loads(json.dumps(part)) for part in memory.measure(True, tell)]
    assert [len(part["runs"]) for part in found] == list(range(1, len(found) + 1))
    runs = found[-1]["runs"]
    assert [run["kernel"] for run in runs] == [case.kernel for case in memory.cases(quick=True)]
    (wrong,) = bench("target").targets_of(found[-1])
    assert wrong.met and wrong.value == 0
    traffic, latency = memory.tables(found[-1])
    assert (traffic.row_count, latency.row_count) == (5, 2)


def test_targets_of_memory(bench):
    memory = bench("memory")
    rates = {"bytes_per_cycle": 48.0, "utilization": 0.75}
    moved = rates | {"read_bytes": 1024, "written_bytes": 2048}
    traffic = {"memory": {"traffic": {"run": moved, "region": moved}}}
    shared = {"check": {"verdict": "pass"}, "instructions": {"warp": 7}, **traffic}
    product = {"cycles": 9, "mac_utilization": 0.5, "allocates": True}
    copy = {**shared, "kernel": "copy", "machine": "virgo", "sizes": {"n": 8}, "cycles": 9}
    ring = {"n": 128, "stride": 16, "steps": 10}
    chase = {**shared, "kernel": "chase", "machine": "virgo", "sizes": ring, "cycles": 142}
    product = {**shared, **product, "kernel": "gemm", "machine": "virgo", "sizes": {"m": 8}}
    runs = [copy, chase, product]
    assert [target.met for target in memory.targets(runs, False)] == [False, False, True]
    values = [target.value for target in memory.targets(runs, False)]
    assert values == pytest.approx([75, 1.2, 0])  # the stated step takes 13 cycles
    assert [target.value for target in memory.targets(runs, True)] == [0]
    moved["utilization"] = 0.85
    chase["cycles"] = 132
    assert all(target.met for target in memory.targets(runs, False))
    traffic, latency, product = memory.tables({"runs": runs})
    assert [table.row_count for table in (traffic, latency, product)] == [1, 1, 1]
    assert [next(iter(column.cells)) for column in product.columns][:4] == [
        *("8", "yes", "pass", "9"),
    ]


def test_targets_of_instructions_from_dram(bench):
    """Losses of the small run count as start-up; the rest is relative to all slots."""
    memory = bench("memory")
    runs = [
        {
            **{"kernel": "vecadd", "machine": machine, "sizes": {"n": size}, "cycles": cycles},
            "cores": [{"issue_slots": {"issued": cycles - lost, "no_instruction": lost}}],
            "check": {"verdict": "pass"},
            "instructions": {"warp": 7},
            "memory": {
                "traffic": {
                    "region": {"bytes_per_cycle": 1, "utilization": 1 / 64}
                    | {"read_bytes": 1024, "written_bytes": 2048}
                }
            },
        }
        for size, machine, cycles, lost in (
            (256, "ideal memory", 500, 10),
            (256, "one core", 1000, 610),
            (8192, "ideal memory", 9000, 20),
            (8192, "one core", 20_001, 1121),
        )
    ]
    cycles, lost, wrong = memory.targets(runs, False)
    assert (cycles.value, cycles.met) == (20_001, False)
    assert lost.value == pytest.approx(100 * 501 / 20_001) and not lost.met
    assert wrong.met
    traffic, instructions = memory.tables({"runs": runs})
    assert (traffic.row_count, instructions.row_count) == (2, 1)
    assert [next(iter(column.cells)) for column in instructions.columns][2:] == [
        *("20,001", "9,000", "1,101", "600", "501 = 2.50 %"),
    ]


@pytest.mark.slow
def test_budgets_from_the_command_line(tmp_path):
    done = run_bench("budgets", "--quick", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "budgets.json").read_text())
    assert result["presets"]["tiny_matrix"]["depth"] <= 60
    assert "met" in done.stdout
