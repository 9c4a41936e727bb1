"""Tests of the profile by function and source line."""

import json
from collections import Counter

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from spica.hw.config import PRESETS
from spica.hw.core.issue.stall_reason import StallReason
from spica.sim.diagnose.source_profile import STATES
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.interface import HARNESS
from spica.sim.report.result import result_schema
from spica.sim.report.run_report import report
from support.command_line import message_of, run_spica
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE
from support.runs import run_kernel, run_program
from support.trace.recorded_runs import record_runs

Kind = HARNESS.enumeration("RecordKind")
TINY = PRESETS["tiny"]
#: Of the cluster of the preset `tiny` on Verilator, as other tests build it.
CLUSTER = {"engine": "verilator", "memory": DramConfig(), "profile": True}
#: Lines by what a warp waits for at them.
SOURCE = """\
#include <spica.h>
static volatile float values[1024];
static volatile float result;
__attribute__((noinline)) static float quotient(float x, float y) { return x / y; }
int main(void) {
    float sum = 0;
    for (int k = 0; k < 64; k++) {
        float value = values[16 * k];
        sum += value;  /* loads */
    }
    for (int k = 0; k < 64; k++)
        sum = quotient(sum, 3.0f) +  /* quotients */
            1.0f;
    result = sum;
    return 0;
}
"""


def total(rows, key):
    return sum(row[key] for row in rows)


def states_of(rows):
    return dict(sum((Counter(row["states"]) for row in rows), Counter()))


def require_consistent(profile, instructions):
    """Check that functions and lines are parts of the whole, which has all instructions."""
    assert profile["instructions"] == instructions
    assert profile["cycles"] == sum(profile["states"].values())
    for rows in (profile["functions"], profile["lines"]):
        assert total(rows, "instructions") == instructions
        assert states_of(rows) == profile["states"]
        assert all(row["cycles"] == sum(row["states"].values()) for row in rows)
        assert [row["cycles"] for row in rows] == sorted(
            (row["cycles"] for row in rows), reverse=True
        )


@pytest.mark.full
def test_lines_have_their_waits(tmp_path, cache):
    source = tmp_path / "own.c"
    source.write_text(SOURCE)
    result = run_program(source, optimize=2, **CLUSTER)
    Draft202012Validator(result_schema()).validate(result)
    profile = result["source_profile"]
    require_consistent(profile, result["instructions"]["warp"])
    numbers = {
        name: SOURCE[: SOURCE.index(name)].count("\n") + 1
        for name in ("/* loads */", "return x / y", "/* quotients */")
    }
    lines = {row["line"]: row for row in profile["lines"] if (row["file"] or "").endswith("own.c")}
    loads, quotients = lines[numbers["/* loads */"]], lines[numbers["return x / y"]]
    assert loads["instructions"] == 64
    waits = loads["states"]
    assert waits["memory"] > max(64 * 10, 0.5 * loads["cycles"])
    assert quotients["function"] == "quotient"
    after = lines[numbers["/* quotients */"]]
    assert after["states"].get("scoreboard", 0) + quotients["states"].get("scoreboard", 0) > 64 * 5
    names = {row["function"] for row in profile["functions"]}
    assert {"main", "quotient", "_start"} <= names
    text = report(result, 140)
    assert "Time of warps by source line" in text
    assert "sum += value;  /* loads */" in text and "values[16 * k]" in text


@pytest.mark.parametrize("kernel", ["vecadd", "gemm"])
@pytest.mark.full
def test_sums_are_those_of_the_recorded_warps(kernel, cache, monkeypatch):
    """Each cycle of an active warp counts once, with the warp's state in this cycle."""
    recorded = record_runs(monkeypatch)
    result = run_kernel(kernel, (9, 8, 7) if kernel == "gemm" else (100,), **CLUSTER)
    profile = result["source_profile"]
    require_consistent(profile, result["instructions"]["warp"])
    expected = Counter()
    for core in recorded:
        expected += warp_cycles(core.rows, core.end)
    assert profile["states"] == {
        STATES[StallReason(reason)]: cycles for reason, cycles in expected.items()
    }


def warp_cycles(rows, end) -> Counter[int]:
    """Return the cycles of active warps by stall reason, from the records of a core."""
    reasons, found, active, last = {}, Counter(), 0, 0
    changes = rows[np.isin(rows["kind"], (Kind.kWarp, Kind.kActive))]
    for row in changes:
        now = int(row["cycle"])
        for warp, reason in reasons.items():
            if active >> warp & 1:
                found[reason] += now - last
        last = now
        if row["kind"] == Kind.kWarp:
            reasons[int(row["warp"])] = int(row["extra"])
        else:
            active = int(row["mask"])
    assert active == 0 and last < end
    return +found


@pytest.mark.full
def test_the_command_line(tmp_path, cache, capsys):
    run = "run vecadd --preset tiny --size 24 --dram-latency 100"
    file = tmp_path / "r.json"
    assert run_spica(f"{run} --profile --json {file}") == 0
    shown = capsys.readouterr().out
    assert "Time of warps by function" in shown
    profile = json.loads(file.read_text())["source_profile"]
    assert any(row["text"] and row["text"].strip() in shown for row in profile["lines"])
    assert run_spica(f"{run} --json {file} --engine verilator") == 0
    assert json.loads(file.read_text())["source_profile"] is None
    assert "Time of warps" not in capsys.readouterr().out


@pytest.mark.full
def test_cores_alone_have_a_profile(cache):
    options = {"engine": "verilator", "model_optimize": OPTIMIZE, "lockstep": False}
    result = run_kernel("vecadd", (24,), FUZZ_CONFIGS[0], profile=True, **options)
    require_consistent(result["source_profile"], result["instructions"]["warp"])


@pytest.mark.parametrize("more", ["vecadd --engine iss", "gemm --preset matrix --driver host"])
def test_runs_without_cores_of_rtl_have_none(more, capsys):
    assert "--profile does not apply to" in message_of(capsys, f"run {more} --profile")
