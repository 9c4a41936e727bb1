"""Tests of the instruction-set model's arithmetic against golden models and QEMU."""

from functools import lru_cache

import numpy as np
import pytest

from bench.units.fp32_lane import HALVES, INSTRUCTIONS, float_by_gfloat, float_operands
from bench.units.operands import floats as operands
from bench.units.operands.division import divide_operands, square_root_operands
from bench.units.special_function import special_operands
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import FP32
from spica.hw.isa.operations import SpecialOperation
from spica.sim.golden.arith.float import division
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.special.special_function import special_function
from spica.sim.golden.core.units.float_units import float_operation
from support.programs.lane_arrays import compute, compute_warps, operands_of

COUNT, SLOW_COUNT, SLOW_PART = 100_000, 10_000_000, 1 << 20
#: Instructions with a fast path for ordinary operands.
ROUNDED = (
    *("fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s"),
    *("fadd.s", "fsub.s", "fmul.s", "fdiv.s", "fsqrt.s"),
)
#: Operations of the FP32 unit, by their instructions.
FLOAT_OPERATIONS = {name: operation for operation, name in (INSTRUCTIONS | HALVES).items()}
FROM_INTEGER = ("fcvt.s.w", "fcvt.s.wu")
TO_INTEGER = ("fcvt.w.s", "fcvt.wu.s")
NARROWING = ("fcvt.h.s", "fcvt.bf16.s", "fpack.h.s", "fpack.bf16.s")
OTHERS = ("fmin.s", "fmax.s", "feq.s", "flt.s", "fle.s", "fclass.s")
WIDENING = (
    *("fcvt.s.h", "fcvt.s.bf16"),
    *("funpackl.s.h", "funpackh.s.h", "funpackl.s.bf16", "funpackh.s.bf16"),
)
MODAL = (*ROUNDED, *FROM_INTEGER, *TO_INTEGER, *NARROWING)
# The others have no rounding mode.
OPERATIONS = (*MODAL, *OTHERS, *WIDENING)
CASES = [
    *((operation, mode) for operation in MODAL for mode in Rounding),
    *((operation, Rounding.NEAREST_EVEN) for operation in (*OTHERS, *WIDENING)),
]
BINADES = [
    *(
        (SpecialOperation.RCP, 0),
        (SpecialOperation.RSQRT, 0),
        (SpecialOperation.RSQRT, 1),
        (SpecialOperation.EXP2, 0),
    ),
    *((SpecialOperation.LOG2, 0), (SpecialOperation.LOG2, -1), (SpecialOperation.LOG2, 5)),
    *(
        (SpecialOperation.SIN, -3),
        (SpecialOperation.SIN, 1),
        (SpecialOperation.COS, -1),
        (SpecialOperation.COS, 20),
    ),
]


def random_operands(operation, rng, count):
    """Return operands that suit an instruction: near its borders, ties and cancellations."""
    match operation:
        case "fdiv.s":
            vectors = divide_operands(rng, count)
            return vectors["a"], vectors["b"]
        case "fsqrt.s":
            return (square_root_operands(rng, count)["a"],)
        case "fmul.s":
            return operands.multiply_operands(rng, count)
        case "fadd.s" | "fsub.s":
            a, b = operands.add_operands(rng, count)
            return a, operands.half_of(rng, b, b ^ np.uint32(1 << 31))
        case _:
            chosen = float_operands(FLOAT_OPERATIONS[operation], rng, count)
            return chosen[: operands_of(operation)]


@lru_cache(maxsize=1)
def vectors_of(operation):
    """Return random operands, and all combinations of corners."""
    seed = OPERATIONS.index(operation)
    random = random_operands(operation, np.random.default_rng(seed), COUNT)
    crossed = operands.crossed(*[corners(FP32)] * operands_of(operation))
    return tuple(np.concatenate(pair) for pair in zip(random, crossed, strict=True))


def check(operation, mode, inputs, got, expected):
    """Fail with the first operands that have wrong results or flags."""
    wrong = np.nonzero((got[0] != expected[0]) | (got[1] != expected[1]))[0]
    shown = [
        f"{', '.join(f'{int(x[k]):#x}' for x in inputs)}: {int(got[0][k]):#x} flags "
        f"{int(got[1][k]):#x}, not {int(expected[0][k]):#x} flags {int(expected[1][k]):#x}"
        for k in wrong[:5]
    ]
    assert not shown, f"{operation} {mode!r}, {len(wrong)} wrong: " + "; ".join(shown)


def golden(operation, inputs, mode):
    """Return results and flags of the golden model."""
    match operation:
        case "fdiv.s":
            return division.divide(*inputs, mode)
        case "fsqrt.s":
            return division.square_root(*inputs, mode)
        case _:
            a, b, c = (*inputs, inputs[0], inputs[0])[:3]
            return float_operation(FLOAT_OPERATIONS[operation], a, b, c, mode)


def check_paths(operation, mode, inputs, expected):
    """Check an operation; a host with another rounding mode has no fast path."""
    has_fast_path = operation in ROUNDED and mode == Rounding.NEAREST_EVEN
    for processor in ("as_is", "down") if has_fast_path else ("as_is",):
        got = compute(operation, *inputs, rounding=mode, processor=processor)
        check(operation, mode, inputs, got, expected)


@pytest.mark.parametrize(("operation", "mode"), CASES)
@pytest.mark.quick(1)
def test_operation_is_the_golden_one(operation, mode):
    inputs = vectors_of(operation)
    expected = golden(operation, inputs, mode)
    check_paths(operation, mode, inputs, expected)


def by_oracle(operation, inputs, mode):
    """Return results and flags of an instruction by QEMU, or of one that it lacks by gfloat."""
    if operation in HALVES.values():
        pytest.importorskip("gfloat")
        a, b = (*inputs, inputs[0])[:2]
        return float_by_gfloat(FLOAT_OPERATIONS[operation], a, b, mode)
    pytest.importorskip("unicorn")
    from bench.oracle.qemu import qemu

    return qemu(operation, *inputs, rounding=mode)


@pytest.mark.parametrize(("operation", "mode"), CASES)
@pytest.mark.quick(12)
def test_operation_is_that_of_an_oracle(operation, mode):
    inputs = vectors_of(operation)
    expected = by_oracle(operation, inputs, mode)
    check_paths(operation, mode, inputs, expected)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_is_that_of_an_oracle_for_many_operands(operation):
    rng = np.random.default_rng(100 + OPERATIONS.index(operation))
    modes = [mode for name, mode in CASES if name == operation]
    for _ in range(0, SLOW_COUNT, SLOW_PART):
        inputs = random_operands(operation, rng, SLOW_PART)
        for mode in modes:
            expected = by_oracle(operation, inputs, mode)
            check_paths(operation, mode, inputs, expected)


@pytest.mark.parametrize("mode", [Rounding.NEAREST_EVEN, Rounding.UP])
@pytest.mark.parametrize("operation", ROUNDED)
def test_warps_compute_what_lanes_do(operation, mode):
    rng = np.random.default_rng(7)
    inputs = vectors_of(operation)
    for lanes in (1, 2, 3, 4, 8, 13, 16, 32):
        count = len(inputs[0]) // lanes // 4
        some = rng.permutation(len(inputs[0]))[: count * lanes]
        picked = [x[some] for x in inputs]
        masks = rng.integers(1, 1 << lanes, count, dtype=np.uint32)
        masks[rng.random(count) < 0.5] = (1 << lanes) - 1
        before = rng.integers(0, 1 << 32, count * lanes, dtype=np.uint32)
        arguments = {"lanes": lanes, "masks": masks, "before": before, "rounding": mode}
        got = compute_warps(operation, *picked, **arguments)
        results, flags = compute(operation, *picked, rounding=mode, processor="down")
        active = (masks[:, None] >> np.arange(lanes) & 1).astype(bool)
        expected_flags = np.where(active, flags.reshape(count, lanes), 0)
        expected = np.where(active.ravel(), results, before)
        assert np.array_equal(got[0], expected), f"{lanes} lanes"
        assert np.array_equal(got[1], np.bitwise_or.reduce(expected_flags, axis=1)), f"{lanes}"


def test_ordinary_operands_in_warps():
    # No special value in any lane: no warp uses the exact path.
    rng = np.random.default_rng(8)
    inputs = [rng.normal(0, 1, 80_000).astype(np.float32).view(np.uint32) for _ in range(3)]
    before = np.zeros(80_000, np.uint32)
    for operation in ROUNDED:
        picked = inputs[: operands_of(operation)]
        if operation == "fsqrt.s":
            picked = [picked[0] & np.uint32(FP32.magnitude_mask)]
        for lanes in (4, 8, 32):
            got = compute_warps(operation, *picked, lanes=lanes, masks=2**lanes - 1, before=before)
            results, flags = compute(operation, *picked, processor="down")
            flags = np.bitwise_or.reduce(flags.reshape(-1, lanes), axis=1)
            assert np.array_equal(got[0], results), operation
            assert np.array_equal(got[1], flags), operation


@pytest.mark.parametrize("processor", ["toward_zero", "down", "up", "flushing"])
@pytest.mark.full
def test_nothing_depends_on_the_state_of_the_processor(processor):
    for operation in OPERATIONS:
        inputs = vectors_of(operation)
        expected = compute(operation, *inputs)
        got = compute(operation, *inputs, processor=processor)
        check(operation, Rounding.NEAREST_EVEN, inputs, got, expected)
        if operation not in ROUNDED:
            continue
        count = len(inputs[0]) // 8 * 8
        picked = [x[:count] for x in inputs]
        warps = {"lanes": 8, "masks": 255, "before": np.zeros(count, np.uint32)}
        results, _ = compute_warps(operation, *picked, **warps, processor=processor)
        assert np.array_equal(results, expected[0][:count]), operation


def test_flags_of_each_exception():
    one, zero, least, largest = 0x3F80_0000, 0, 1, FP32.largest
    cases = {
        ("fdiv.s", (one, zero)): FLAGS["divide_by_zero"],
        ("fdiv.s", (zero, zero)): FLAGS["invalid"],
        ("fmul.s", (largest, largest)): FLAGS["overflow"] | FLAGS["inexact"],
        ("fmul.s", (least, least)): FLAGS["underflow"] | FLAGS["inexact"],
        ("fadd.s", (one, least)): FLAGS["inexact"],
        ("fadd.s", (one, one)): 0,
        ("fadd.s", (least, least)): 0,
        ("fsqrt.s", (one | 1 << 31,)): FLAGS["invalid"],
    }
    for (operation, inputs), expected in cases.items():
        assert compute(operation, *inputs)[1].tolist() == [expected], (operation, inputs)


def special_inputs(function):
    """Return operands of a special function: random, near its borders, and corners."""
    rng = np.random.default_rng(20 + function)
    anywhere = rng.integers(0, 1 << 32, 50_000, dtype=np.uint32)
    return np.concatenate([special_operands(rng, 150_000)["a"], anywhere, corners(FP32)])


def check_special(function, a, processor="as_is"):
    """Fail with the first operands whose results differ from the golden ones, or that set flags."""
    name = f"f{SpecialOperation(function).name.lower()}.s"
    expected = special_function(function, a), np.zeros(len(a), np.uint32)
    check(name, None, (a,), compute(name, a, processor=processor), expected)


@pytest.mark.parametrize("processor", ["as_is", "down", "flushing"])
@pytest.mark.parametrize("function", SpecialOperation)
def test_special_function_is_the_golden_one(function, processor):
    check_special(function, special_inputs(function), processor)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "exponent"), BINADES)
def test_special_function_of_all_fractions(function, exponent):
    fractions = np.arange(1 << FP32.fraction_width, dtype=np.uint32)
    check_special(function, fractions | np.uint32((exponent + FP32.bias) << FP32.fraction_width))
