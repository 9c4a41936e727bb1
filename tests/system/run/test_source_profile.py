"""Tests of profiles: by function and source line, execution units and issue slots."""

import json
from collections import Counter, deque
from dataclasses import replace

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.presets import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.diagnose.source_profile import STATES
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.interface import HARNESS
from spica.sim.machine.program_machine import NEVER
from spica.sim.report.result import result_schema
from spica.sim.report.run_report import report
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload, ProgramWorkload
from spica.sim.run.workload import run_workload
from spica.sim.trace.pipeline.pipeline import pipeline_of
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
    reasons, cycles, active, last = {}, Counter(), 0, 0
    changes = rows[np.isin(rows["kind"], (Kind.kWarp, Kind.kActive))]
    for row in changes:
        now = int(row["cycle"])
        for warp, reason in reasons.items():
            if active >> warp & 1:
                cycles[reason] += now - last
        last = now
        if row["kind"] == Kind.kWarp:
            reasons[int(row["warp"])] = int(row["extra"])
        else:
            active = int(row["mask"])
    assert active == 0 and last < end
    return +cycles


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


#: Cores alone, as other tests build them.
ALONE = SimtOptions(
    engine="verilator",
    model_optimize=OPTIMIZE,
    memory=CoreMemoryConfig(latency=3, jitter=2, stall=0.1),
)
#: A product of square matrices of side SIDE with a division in its inner loop, by all warps.
DIVISIONS = """\
#include <spica.h>
int a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
static void entry(uint32_t at, void *unused) {
    int sum = 0;
    for (uint32_t k = 0; k < SIDE; k++) sum += a[at / SIDE * SIDE + k] / b[k * SIDE + at % SIDE];
    c[at] = sum;
}
int main(void) {
    for (int k = 0; k < SIDE * SIDE; k++) { a[k] = 1000 + 7 * k; b[k] = 3 + k; }
    spica_spawn_tasks(SIDE * SIDE, entry, 0);
    return 0;
}
"""
#: Reasons of empty slots that are charged to a unit.
CHARGED = ("collectors_full", "scoreboard", "memory", "drain")


def recorded_run(work, monkeypatch, **options):
    """Return the result of a run on cores alone, and the pipeline traces of all its cores."""
    recorded = record_runs(monkeypatch)
    result = run_workload(work, "tiny", FUZZ_CONFIGS[0], replace(ALONE, **options))
    return result, [pipeline_of(records) for records in recorded]


def expected_use(pipeline, cycles):
    """Return the cycles in use and the lost slots by port, computed from a trace."""
    use, lost = set(), Counter()
    reasons = {}
    for warp, runs in enumerate(pipeline.warps):
        for run in runs:
            reasons.update(dict.fromkeys(((warp, t) for t in range(run.start, run.end)), run.state))
    slots = [
        (t, StallReason(run.state))
        for runs in pipeline.slots
        for run in runs
        for t in range(run.start, run.end)
    ]
    assert len({t for t, _ in slots}) == cycles
    later, open_ = deque(pipeline.lives), []
    for t, reason in sorted(slots):
        while later and later[0].collected <= t:
            open_.append(later.popleft())
        open_ = [life for life in open_ if t < (life.done or NEVER)]
        executing = {life.port for life in open_ if (life.dispatched or NEVER) <= t}
        use.update((port, t) for port in executing)
        if reason is StallReason.COLLECTORS_FULL:
            held = Counter(life.port for life in open_ if t < (life.dispatched or NEVER))
            most = max(held.values(), default=0)
            ports = [port for port in sorted(held) if held[port] == most]
        else:
            ports = [life.port for life in open_ if reasons.get((life.warp, t)) == reason]
            ports = ports if reason.name.lower() in CHARGED else []
        if ports:
            lost[ports[0].name.lower(), reason.name.lower()] += 1
    used = Counter(port for port, _ in use)
    return {port.name.lower(): count for port, count in used.items()}, lost


@pytest.mark.parametrize("program", ["divisions", "vecadd"])
@pytest.mark.full
def test_use_and_charges_are_those_of_the_trace(program, tmp_path, cache, monkeypatch):
    source = tmp_path / "own.c"
    source.write_text(DIVISIONS.replace("SIDE", "8"))
    work = ProgramWorkload([source])
    if program == "vecadd":
        work = KernelWorkload(find_kernel("vecadd"), {"n": 48})
    result, pipelines = recorded_run(work, monkeypatch)
    for core, pipeline in zip(result["cores"], pipelines, strict=True):
        width = result["config"]["core"]["issue_width"]
        slots = core["issue_slots"]
        use, lost = expected_use(pipeline, sum(slots.values()) // width)
        units = core["units"]
        assert {name: unit["cycles"] for name, unit in units.items() if unit["cycles"]} == use
        assert lost == Counter({
            (name, reason): count
            for name, unit in units.items()
            for reason, count in unit["lost_slots"].items()
        })
        for reason, count in slots.items():
            charged = sum(n for (_, why), n in lost.items() if why == reason)
            assert charged <= count if reason in CHARGED else not charged


@pytest.mark.full
def test_a_divider_in_the_inner_loop_is_named(tmp_path, cache):
    """The unit that is the limit is named, not only the stage in front of it."""
    source = tmp_path / "own.c"
    source.write_text(DIVISIONS.replace("SIDE", "16"))
    result = run_workload(
        ProgramWorkload([source]), "tiny", FUZZ_CONFIGS[0], replace(ALONE, profile=True)
    )
    text = report(result, 160)
    summary = text.partition("\n\n")[0]
    assert "(divide)" in summary
    assert "Limit: the division and square root unit has an instruction in " in summary
    assert "Execution units" in text
    slowest = result["source_profile"]["code"][0]
    assert "div" in " ".join([slowest["assembly"], *(w["assembly"] for w in slowest["waits"])])
    waited = [w for row in result["source_profile"]["code"] for w in row["waits"]]
    total = sum(
        row["states"].get(state, 0)
        for row in result["source_profile"]["code"]
        for state in ("scoreboard", "memory")
    )
    charged = sum(w["cycles"] for w in waited)
    assert 0.95 * total <= charged <= total
    by_division = sum(w["cycles"] for w in waited if w["assembly"].startswith("div "))
    assert by_division > 0.5 * charged
