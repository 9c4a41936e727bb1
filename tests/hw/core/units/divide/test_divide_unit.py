"""Tests of the divide unit against its golden model, and of that against Python and QEMU."""

import random

import numpy as np
import pytest

from bench.units.divide_lane import divide_by_qemu, integer_by_definition
from bench.units.operands.division import INTEGER_CORNERS as CORNERS
from bench.units.operands.division import (
    divide_operands,
    integer_operands,
    square_root_operands,
)
from bench.units.operands.floats import crossed
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config import CoreConfig
from spica.hw.config.formats import FP32
from spica.hw.core.units.divide.divide_lane import DivideLaneConfig
from spica.hw.core.units.divide.divide_unit import DivideUnit
from spica.hw.isa.operations import DivideOperation, Port
from spica.sim.golden.arith.float import floats
from spica.sim.golden.core.units.float_units import divide_operation, divide_result
from support.core.lane_bench import Warps, run_unit, timed

OPERATIONS = list(DivideOperation)
INTEGERS = OPERATIONS[:4]
FLOATS = OPERATIONS[4:]


def operands_of(operation: DivideOperation, rng: random.Random, count: int):
    """Return operands that reveal errors of an operation."""
    generator = np.random.default_rng(rng.getrandbits(32))
    if operation in INTEGERS:
        return [x.tolist() for x in integer_operands(generator, count)]
    if operation == DivideOperation.FDIV:
        inputs = divide_operands(generator, count)
        return [inputs["a"].tolist(), inputs["b"].tolist()]
    return [square_root_operands(generator, count)["a"].tolist()]


def warps_of(config: CoreConfig, operations, seed: int) -> list[dict]:
    """Return a warp for each of `operations`."""
    warps = Warps(config, seed)
    return [
        warps.operation(
            operation,
            operands_of(operation, warps.rng, config.threads),
            rounding=warps.rng.choice(list(Rounding)),
        )
        for operation in operations
    ]


@pytest.mark.parametrize("operation", INTEGERS, ids=lambda operation: operation.name)
def test_golden_model_agrees_with_the_definition(operation):
    a, b = integer_operands(np.random.default_rng(operation), 20_000)
    corner_a, corner_b = crossed(*[np.array(CORNERS, np.uint32)] * 2)
    a, b = np.concatenate([a, corner_a]), np.concatenate([b, corner_b])
    values, flags = divide_operation(operation, a, b)
    assert np.array_equal(values, integer_by_definition(operation, a, b, None)[0])
    assert not flags.any()


@pytest.mark.parametrize("operation", FLOATS, ids=lambda operation: operation.name)
def test_golden_model_agrees_with_qemu(operation):
    pytest.importorskip("unicorn")
    rng = random.Random(operation)
    operands = operands_of(operation, rng, 50_000)
    corners = crossed(*[floats.corners(FP32)] * 2)
    a, b = (
        np.concatenate([np.array(x, np.uint32), corner])
        for x, corner in zip((operands[0], operands[-1]), corners, strict=True)
    )
    rounding = np.array([rng.choice(list(Rounding)) for _ in a])
    expected, flags = divide_by_qemu(operation, a, b, rounding)
    got, got_flags = divide_operation(operation, a, b, rounding)
    assert np.array_equal(got, expected)
    assert np.array_equal(got_flags, flags)


CONFIGS = [
    CoreConfig(warps=4, threads=4),
    CoreConfig(warps=2, threads=4, divide_lanes=2),
    CoreConfig(warps=2, threads=1),
    CoreConfig(),
    CoreConfig(threads=32),
]


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.threads}x{c.lanes(Port.DIVIDE)}")
@pytest.mark.quick(1)
def test_unit_matches_golden_model(config, stall):
    order = random.Random(config.threads).choices(OPERATIONS, k=30)
    operations = warps_of(config, order, seed=config.threads)
    results = run_unit(DivideUnit(config), operations, stall=stall)
    assert results == [divide_result(config, operation) for operation in operations]


@pytest.mark.parametrize("operation", INTEGERS, ids=lambda operation: operation.name)
@pytest.mark.quick(1)
def test_corners_of_integers(operation):
    """They include division by zero, and the least number by -1."""
    config = CoreConfig(warps=1, threads=len(CORNERS))
    warps = Warps(config, 1)
    mask = (1 << config.threads) - 1
    operations = [
        warps.operation(operation, [CORNERS, [b] * len(CORNERS)], mask=mask) for b in CORNERS
    ]
    results = run_unit(DivideUnit(config), operations)
    expected = [
        integer_by_definition(operation, CORNERS, [b] * len(CORNERS), None)[0] for b in CORNERS
    ]
    assert [result["values"] for result in results] == [values.tolist() for values in expected]
    assert not any(result["flags"] for result in results)


@pytest.mark.parametrize(
    ("operation", "interval"),
    [(DivideOperation.FDIV, 7), (DivideOperation.FSQRT, 7)]
    + [(operation, 9) for operation in INTEGERS],
)
@pytest.mark.quick(2)
def test_latency_and_interval(operation, interval):
    """With a lane for each thread, and with one lane for all."""
    every = CoreConfig(warps=2, threads=2, divide_lanes=2)
    accepted, ends = timed(DivideUnit(every), warps_of(every, [operation] * 4, 1), 6 * interval)
    # The first starts when it is in the input register, where the next one waits.
    begun = [1 + number * interval for number in range(4)]
    assert accepted == [0, *begun[:-1]]
    assert ends == [cycle + interval + 1 for cycle in begun]

    one = CoreConfig(warps=2, threads=4)
    operations = warps_of(one, [operation] * 3, 2)
    accepted, ends = timed(DivideUnit(one), operations, 15 * interval)
    # The second enters the register when the first starts its last beat.
    assert accepted == [0, 1 + 3 * interval, 1 + 7 * interval]
    assert ends == [2 + (4 * number + 4) * interval for number in range(3)]


def test_a_waiting_result_stops_only_the_next_but_one():
    config = CoreConfig(warps=2, threads=1)
    operations = warps_of(config, [DivideOperation.FDIV] * 4, 3)
    accepted, ends = timed(DivideUnit(config), operations, 80, willing=lambda cycle: cycle >= 40)
    # The next result replaces the previous one a cycle after that was taken.
    assert accepted == [0, 1, 8, 41]
    assert ends == [40, 42, 49, 56]


def test_digits():
    assert [DivideLaneConfig(digits=n).integer_cycles for n in (1, 2, 4)] == [32, 16, 8]
    with pytest.raises(ValueError, match="digits must be one of 1, 2, 4, not 3"):
        DivideLaneConfig(digits=3)
