"""Tests of the warp scheduler: four policies against their models, fairness, cost."""

import random
from itertools import product

import pytest
from amaranth import Cat

from spica.hw.config import CoreConfig
from spica.hw.core.issue.scheduler import Scheduler
from spica.hw.core.issue.two_level import PATIENCE, members
from spica.sim.engine.testbench import require_no_loop, simulate
from support.core.scheduler_models import make_scheduler

POLICIES = ["round_robin", "greedy_then_oldest", "oldest", "two_level"]


def mask(warps) -> int:
    return sum(1 << warp for warp in warps)


def grants(config, cycles):
    """Run `cycles` of sets (ready, taken, long_wait, started) and return the grants."""
    dut = require_no_loop(Scheduler(config))
    inputs = Cat(dut.warps.ready, dut.warps.long_wait, dut.warps.started, dut.warps.accept)
    chosen = []

    async def testbench(ctx):
        for ready, accepted, long_wait, started in cycles:
            words = [mask(ready), mask(long_wait), mask(started), 0]
            ctx.set(inputs, sum(word << config.warps * n for n, word in enumerate(words)))
            grant = ctx.get(dut.warps.grant)
            assert grant.bit_count() <= 1
            ctx.set(dut.warps.accept, accepted and grant != 0)
            chosen.append(grant.bit_length() - 1 if grant else None)
            await ctx.tick()

    simulate(dut, testbench)
    return chosen


def some(rng, warps, probability):
    return {warp for warp in range(warps) if rng.random() < probability}


@pytest.mark.parametrize("scheduler", POLICIES)
@pytest.mark.parametrize("warps", [1, 2, 3, 8])
@pytest.mark.quick(6)
def test_same_as_the_model(scheduler, warps):
    config = CoreConfig(warps=warps, scheduler=scheduler)
    rng = random.Random(warps)
    cycles = []
    for density, changes in product([0.1, 0.5, 0.9], [0.02, 0.5]):
        cycles += [
            (
                some(rng, warps, density),
                rng.random() < 0.7,
                some(rng, warps, changes),
                some(rng, warps, changes / 2),
            )
            for _ in range(100)
        ]
    model = make_scheduler(config)
    for cycle, (grant, (ready, accepted, long_wait, started)) in enumerate(
        zip(grants(config, cycles), cycles, strict=True)
    ):
        expected = model.choose(ready)
        assert grant == expected, f"cycle {cycle}"
        model.step(expected if accepted else None, long_wait, started)


EVERY = {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("round_robin", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("greedy_then_oldest", [0] * 8),
        ("oldest", [0] * 8),
        ("two_level", [0, 1, 0, 1, 0, 1, 0, 1]),
    ],
)
def test_whose_turn_it_is_if_all_are_ready(scheduler, expected):
    config = CoreConfig(warps=4, scheduler=scheduler)
    assert grants(config, [(EVERY, True, set(), set())] * 8) == expected


def test_two_levels_leave_nobody_out_forever():
    config = CoreConfig(warps=4, scheduler="two_level")
    grant = grants(config, [(EVERY, True, set(), set())] * (3 * PATIENCE))
    assert set(grant) == EVERY


@pytest.mark.parametrize("warps", range(1, 33))
def test_size_of_the_active_set(warps):
    assert 1 <= members(warps) <= warps
