"""Tests of the core's special function unit: warps through its lanes, against the golden model."""

import numpy as np
import pytest

from bench.units.special_function import special_operands
from spica.hw.config import CoreConfig
from spica.hw.core.units.credit_fifo import CreditFifoConfig
from spica.hw.core.units.sfu.special_unit import SpecialUnit
from spica.hw.isa.operations import Port, SpecialOperation
from spica.sim.golden.core.units.float_units import special_result
from support.core.lane_bench import Warps, run_unit, timed

LATENCY = SpecialUnit.lane.latency


def warps_of(config: CoreConfig, count: int, seed: int) -> list[dict]:
    """Return warps of random functions."""
    warps = Warps(config, seed)
    operations = []
    for number in range(count):
        operation = list(SpecialOperation)[number % len(SpecialOperation)]
        vectors = special_operands(np.random.default_rng(seed + number), 400)
        chosen = vectors["a"][vectors["operation"] == operation][: config.threads]
        operations.append(warps.operation(operation, [chosen]))
    return operations


CONFIGS = [CoreConfig(warps=2, threads=3), CoreConfig(warps=1, threads=1), CoreConfig()]


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.threads}x{c.lanes(Port.SPECIAL)}")
@pytest.mark.quick(1)
def test_unit_matches_golden_model(config, stall):
    operations = warps_of(config, 18, seed=config.threads)
    results = run_unit(SpecialUnit(config), operations, stall=stall)
    assert results == [special_result(config, operation) for operation in operations]


@pytest.mark.parametrize(("threads", "lanes"), [(4, 1), (4, 2), (1, 1)])
@pytest.mark.quick(1)
def test_latency_and_a_beat_per_cycle(threads, lanes):
    config = CoreConfig(threads=threads, special_lanes=lanes)
    beats = threads // lanes
    accepted, ends = timed(SpecialUnit(config), warps_of(config, 4, 1), 5 * beats + LATENCY + 2)
    # The first starts when it is in the input register, where the next one waits.
    assert accepted == [beats * number for number in range(4)]
    assert ends == [1 + LATENCY + beats * number + beats - 1 for number in range(4)]


def test_results_that_are_not_taken_wait():
    config = CoreConfig(warps=2, threads=1)
    places = CreditFifoConfig(common=1, result=1, latency=LATENCY).places
    accepted, ends = timed(
        SpecialUnit(config), warps_of(config, 12, 2), 60, willing=lambda cycle: cycle >= 30
    )
    # One more waits in the input register.
    assert accepted == [*range(places + 1), *range(31, 31 + 11 - places)]
    assert ends == list(range(30, 42))
