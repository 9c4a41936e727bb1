"""Tests of the FP32 unit: lanes and warp control against golden models and QEMU."""

import numpy as np
import pytest
from amaranth import *

from bench.units.fp32_lane import INSTRUCTIONS, float_by_qemu, float_operands
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config import CoreConfig
from spica.hw.config.formats import FP32
from spica.hw.core.units.credit_fifo import CreditFifoConfig
from spica.hw.core.units.fp32.float_lanes import FloatLanes, FloatLanesConfig
from spica.hw.core.units.fp32.fp32_unit import Fp32Unit
from spica.hw.core.units.fp32.non_computational import FloatNonComputational
from spica.hw.isa.operations import FloatOperation, Port
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float import floats
from spica.sim.golden.core.units.float_units import float_operation, fp32_result
from support.core.lane_bench import Warps, run_unit, timed

OPERATIONS = list(FloatOperation)


def warps_of(config: CoreConfig, count: int, seed: int) -> list[dict]:
    """Return `count` warp operations, each operation in turn."""
    warps = Warps(config, seed)
    rng = np.random.default_rng(seed)
    payloads = []
    for number in range(count):
        operation = OPERATIONS[number % len(OPERATIONS)]
        operands = float_operands(operation, rng, config.threads)
        rounding = warps.rng.choice(list(Rounding))
        payloads.append(warps.operation(operation, operands, rounding=rounding))
    return payloads


@pytest.mark.parametrize("operation", INSTRUCTIONS, ids=lambda operation: operation.name)
def test_golden_model_agrees_with_qemu(operation):
    pytest.importorskip("unicorn")
    rng = np.random.default_rng(operation)
    a, b, c = float_operands(operation, rng, 20_000)
    corners = floats.corners(FP32)
    a = np.concatenate([a, np.repeat(corners, len(corners))])
    b = np.concatenate([b, np.tile(corners, len(corners))])
    c = np.resize(c, len(a))
    rounding = rng.integers(0, len(Rounding), len(a))
    expected, expected_flags = float_by_qemu(operation, a, b, c, rounding)
    values, flags = float_operation(operation, a, b, c, rounding)
    assert np.array_equal(values, expected)
    assert np.array_equal(flags, expected_flags)


@pytest.mark.parametrize("latency", [3, 4, 6])
@pytest.mark.quick(1)
def test_lanes_match_golden_model(latency):
    """Every operation back to back, in each of two lanes."""
    lanes, count = 2, 8 * len(OPERATIONS)
    rng = np.random.default_rng(latency)
    operation = np.tile(OPERATIONS, 8)
    rounding = rng.integers(0, len(Rounding), count)
    sets = [float_operands(FloatOperation(member), rng, lanes) for member in operation]
    dut = require_no_loop(FloatLanes(FloatLanesConfig(lanes=lanes, latency=latency)))
    inputs = Cat(*(Value.cast(value) for *_, value in dut.operands.signature.flatten(dut.operands)))
    outputs = Cat(Value.cast(dut.result.o), Value.cast(dut.result.flags))
    got = []

    async def bench(ctx):
        for number in range(count + latency):
            k = min(number, count - 1)
            word = int(operation[k]) | int(rounding[k]) << 5
            for place, value in enumerate(np.concatenate(sets[k]).tolist()):
                word |= value << 8 + 32 * place
            ctx.set(inputs, word)
            _, _, result = await ctx.tick().sample(outputs)
            got.append(result)

    simulate(dut, bench)
    for k, result in enumerate(got[latency:]):
        values, flags = float_operation(FloatOperation(operation[k]), *sets[k], rounding[k])
        expected = [int(x) << 32 * n for n, x in enumerate(values)]
        expected += [int(x) << 32 * lanes + 5 * n for n, x in enumerate(flags)]
        assert result == sum(expected), (OPERATIONS[operation[k]], sets[k], rounding[k])


CONFIGS = [
    CoreConfig(warps=4, threads=2),
    CoreConfig(warps=2, threads=4, fp32_lanes=2, fma_latency=3),
    CoreConfig(warps=1, threads=3, fp32_lanes=1, fma_latency=5),
    CoreConfig(warps=2, threads=1, fma_latency=6),
]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.threads}x{c.lanes(Port.FP32)}")
@pytest.mark.full
def test_unit_matches_golden_model(config, stall):
    operations = warps_of(config, 2 * len(OPERATIONS), seed=config.threads)
    results = run_unit(Fp32Unit(config), operations, stall=stall)
    assert results == [fp32_result(config, operation) for operation in operations]


@pytest.mark.slow
def test_unit_of_eight_threads():
    config = CoreConfig()
    operations = warps_of(config, len(OPERATIONS), seed=8)
    results = run_unit(Fp32Unit(config), operations)
    assert results == [fp32_result(config, operation) for operation in operations]


@pytest.mark.parametrize("latency", [3, 4, 5, 6])
@pytest.mark.quick(2)
def test_every_operation_has_one_latency_and_one_begins_per_cycle(latency):
    config = CoreConfig(warps=2, threads=2, fma_latency=latency)
    operations = warps_of(config, len(OPERATIONS), seed=1)
    accepted, ends = timed(Fp32Unit(config), operations, len(operations) + latency + 2)
    assert accepted == list(range(len(operations)))
    assert ends == [cycle + latency for cycle in accepted]


def test_a_beat_per_cycle():
    config = CoreConfig(warps=2, threads=6, fp32_lanes=2)
    operations = warps_of(config, 6, seed=2)
    accepted, ends = timed(Fp32Unit(config), operations, 30)
    assert accepted == [3 * number + 2 for number in range(6)]
    assert ends == [cycle + config.fma_latency for cycle in accepted]


def test_results_that_are_not_taken_wait_and_then_leave_one_per_cycle():
    config = CoreConfig(warps=2, threads=2)
    places = CreditFifoConfig(common=1, result=1, latency=config.fma_latency).places
    operations = warps_of(config, 20, seed=3)
    accepted, ends = timed(Fp32Unit(config), operations, 60, willing=lambda cycle: cycle >= 20)
    assert accepted[:places] == list(range(places))
    assert accepted[places] == 21
    assert ends == list(range(20, 40))


KNOWN = [
    (FloatOperation.TO_FP16, 0x4780_0000, Rounding.NEAREST_EVEN, 0xFFFF_7C00, "overflow"),
    (FloatOperation.TO_BF16, 0xC000_8001, Rounding.TOWARD_ZERO, 0xFFFF_C000, "inexact"),
    (FloatOperation.FROM_FP16, 0xFFFF_0001, Rounding.UP, 0x3380_0000, None),
    (FloatOperation.FROM_FP16, 0xFFFE_3C00, Rounding.UP, FP32.nan, None),
    (FloatOperation.FROM_BF16, 0x0000_3F80, Rounding.UP, FP32.nan, None),
    (FloatOperation.LOW_FP16, 0x4000_3C00, Rounding.UP, 0x3F80_0000, None),
    (FloatOperation.HIGH_FP16, 0x4000_3C00, Rounding.UP, 0x4000_0000, None),
    (FloatOperation.HIGH_FP16, 0x7C01_3C00, Rounding.UP, FP32.nan, "invalid"),
    (FloatOperation.HIGH_BF16, 0x8001_3F80, Rounding.UP, 0x8001_0000, None),
    (FloatOperation.MOVE, FP32.infinity + 1, Rounding.UP, FP32.infinity + 1, None),
]


@pytest.mark.full
def test_known_results():
    config = CoreConfig(warps=1, threads=1)
    warps = Warps(config, 5)
    operations = [
        warps.operation(operation, [[a]], rounding=rounding, mask=1)
        for operation, a, rounding, *_ in KNOWN
    ]
    results = run_unit(Fp32Unit(config), operations)
    raised = {None: 0, **FLAGS, "overflow": FLAGS["overflow"] | FLAGS["inexact"]}
    expected = [([value], raised[flag]) for *_, value, flag in KNOWN]
    assert [(result["values"], result["flags"]) for result in results] == expected


@pytest.mark.slow
@pytest.mark.parametrize("latency", [3, 4])
def test_lanes_at_length(latency):
    """Two lanes on Verilator, against the golden model."""
    from bench.units.bench import UnitBench
    from bench.units.unit import Unit

    lanes, count = 2, 200_000
    unit = Unit(
        name="lanes",
        group="core",
        component=lambda: FloatLanes(FloatLanesConfig(lanes=lanes, latency=latency)),
        latency=latency,
        operands=lambda rng, count: {},
        golden=lambda: {},
        oracle="",
    )
    rng = np.random.default_rng(latency)
    with UnitBench([unit]) as bench:
        for operation in OPERATIONS:
            values = [x.reshape(-1, lanes) for x in float_operands(operation, rng, count * lanes)]
            rounding = rng.integers(0, len(Rounding), count)
            inputs = dict(zip("abc", values, strict=True))
            inputs |= {"operation": np.full(count, operation), "rounding": rounding}
            got = bench.run("lanes", inputs)
            expected, flags = float_operation(operation, *values, rounding[:, np.newaxis])
            assert np.array_equal(got["o"], expected), operation.name
            assert np.array_equal(got["flags"], flags), operation.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FloatLanesConfig(lanes=0), "lanes must be between 1 and 32, not 0"),
        (lambda: FloatLanesConfig(latency=2), "latency must be between 3 and 6, not 2"),
        (
            lambda: CreditFifoConfig(common=1, result=1, latency=16),
            "latency must be between 1 and 15, not 16",
        ),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


#: Numbers of every class, and others of equal or adjacent magnitude.
CLASSES = [0, 1, 0x7F_FFFF, 1 << 23, 0x3F80_0000, 0x3F80_0001, FP32.largest]
CLASSES += [FP32.infinity, FP32.infinity + 1, FP32.nan]
CLASSES += [a | 1 << 31 for a in CLASSES]
SIMPLE = [*OPERATIONS[7:16], FloatOperation.MOVE]
PAIRS = np.array([(a, b) for a in CLASSES for b in CLASSES])


@pytest.mark.parametrize("operation", SIMPLE, ids=lambda operation: operation.name)
@pytest.mark.quick(4)
def test_operations_that_round_nothing_of_every_class_with_every_other(operation):
    lanes = 2
    dut = require_no_loop(FloatNonComputational(lanes))

    async def bench(ctx):
        ctx.set(dut.operands.operation, operation)
        for a, b in PAIRS.T.reshape(2, -1, lanes).swapaxes(0, 1).tolist():
            ctx.set(dut.operands.a, a)
            ctx.set(dut.operands.b, b)
            await ctx.delay(1e-6)
            o, invalid = ctx.get(dut.o), ctx.get(dut.invalid)
            got = [(o[k], (invalid >> k & 1) * FLAGS["invalid"]) for k in range(lanes)]
            values, flags = float_operation(operation, np.array(a), np.array(b), np.array(a))
            assert got == list(zip(values.tolist(), flags.tolist(), strict=True)), (a, b)

    simulate(dut, bench, domains=())
