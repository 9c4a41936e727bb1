"""Tests of the use of execution units, and of the issue slots that are charged to each."""

from collections import Counter, deque
from dataclasses import replace

import pytest

from spica.hw.core.issue.stall_reason import StallReason
from spica.kernels.kernel import find_kernel
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.machine.program_machine import NEVER
from spica.sim.report.run_report import report
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload, ProgramWorkload
from spica.sim.run.workload import run_workload
from spica.sim.trace.pipeline.pipeline import pipeline_of
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE
from support.trace.recorded_runs import record_runs

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
