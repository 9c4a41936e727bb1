"""Stress tests of cluster barriers: many at once, of all cores and of some, valid and invalid."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from spica.sim.golden.core.control.barrier import OF_CORES
from support.cluster.barrier_plans import MeetingPlan, step
from support.cluster.barrier_scopes import BarrierSystemModel, Coming
from support.cluster.barrier_stress import BarrierStress
from support.core.lockstep_fuzz import FUZZ_CONFIGS, OPTIMIZE
from support.core.small_core import small_core
from support.runs import failure_of

#: One warp of the second core ends instead of arriving at a barrier.
PROGRAM = Path(__file__).parents[2] / "support" / "c_programs" / "mistakes" / "absent_warp.c"

CONFIGS = {
    scope: replace(small_core(cores=4, warps=6, threads=1, barrier_scope=scope), barriers=8)
    for scope in ("cluster", "core")
}
SHAPES = {
    "one core": replace(small_core(cores=1, warps=8, threads=1), barriers=3),
    "two": replace(small_core(cores=2, warps=2, threads=1, barrier_scope="core"), barriers=1),
    "virgo": small_core(cores=4, warps=8, threads=1),
    "many": small_core(cores=16, warps=4, threads=1, barrier_scope="core"),
}


@pytest.fixture(scope="module", params=CONFIGS)
def stress(request):
    with BarrierStress(CONFIGS[request.param], optimize=0) as stress:
        yield stress


def synchronize(stress, cycles, *, seed, rate):
    """Run random arrivals for this many cycles; return the events."""
    plan = MeetingPlan(stress.config, random.Random(seed), rate=rate, wrong=0.2)
    stress.check([*plan.run(cycles)])
    return plan.tally


@pytest.mark.full
def test_meetings_of_cores_that_seldom_arrive(stress):
    tally = synchronize(stress, 3000, seed=1, rate=0.05)
    assert tally["meetings"] > 40
    assert tally["at once"] > 1


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.quick("core-1.0")
def test_random_meetings(stress, rate):
    tally = synchronize(stress, 3000, seed=1, rate=rate)
    assert tally["meetings"] > 500
    assert tally["at once"] > 2
    causes = {"BARRIER_NUMBER", "BARRIER_COUNT", "BARRIER_DISAGREES", "BARRIER_FULL"}
    assert all(tally[cause] for cause in causes)
    if stress.config.barrier_scope == "core":
        assert tally["refused by other cores"]


@pytest.mark.full
def test_a_barrier_that_one_core_never_reaches_stays_closed(stress):
    """Other barriers open meanwhile; the waiting cores are reported all the time."""
    config = stress.config
    of_cores = OF_CORES if config.barrier_scope == "core" else 0
    warps = 1 if of_cores else config.core.warps - 1
    count = config.cores if of_cores else warps
    model, moments = BarrierSystemModel(config), []
    for cycle in range(1000):
        # All cores except the last arrive at barrier 3, then every core's last warp at another one.
        coming = [None] * config.cores
        for core in range(config.cores):
            if cycle < 100 and core < config.cores - 1:
                warp = len(model.cores[core].waiting)
                coming[core] = Coming(warp, of_cores | 3, count) if warp < warps else None
            elif cycle >= 100 and config.core.warps - 1 not in model.cores[core].waiting:
                of_all = config.cores if of_cores else 1
                coming[core] = Coming(config.core.warps - 1, of_cores | cycle // 100 % 3, of_all)
        moments.append(step(model, coming))
    stress.check(moments)
    late = moments[200:]
    assert {moment.cores_waiting[3] for moment in late} == {0b0111}
    assert {moment.waiting[0] & (1 << warps) - 1 for moment in late} == {(1 << warps) - 1}
    assert sum(moment.responses[3].released != 0 for moment in late) > 100


@pytest.mark.full
def test_who_is_missing_is_named():
    """A program hangs on the RTL: the report names the barrier and the number of waiting warps."""
    config = next(config for config in FUZZ_CONFIGS if config.cores == 2)
    options = {"engine": "verilator", "model_optimize": OPTIMIZE, "max_cycles": 20_000}
    _, text = failure_of(PROGRAM, config, lockstep=True, **options)
    said = "barrier 1: core 0: 3 of 3 warps arrived; core 1: 2 of 3 warps arrived"
    assert said in text
    assert "core 0, warps 0-2; core 1, warps 1-2 wait at barrier 1" in text
    assert "absent_warp.c:10 in synchronize" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_many_meetings(name):
    with BarrierStress(SHAPES[name]) as stress:
        tally = synchronize(stress, 100_000, seed=2, rate=0.8)
    assert tally["arrivals"] > 30_000
