"""Tests of special functions: unit against golden model, and that against exact functions."""

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest

from bench.units.special_function import special_operands
from spica.hw.arith.special import functions as special
from spica.hw.arith.special.coefficients import COEFFICIENTS, INVERSE_TURN, INVERSE_TURN_WIDTH
from spica.hw.arith.special.functions import TABLES
from spica.hw.arith.special.interpolate import Square
from spica.hw.arith.special.special_function import SpecialFunction, SpecialFunctionConfig
from spica.hw.config.formats import FP32
from spica.hw.isa.operations import SpecialOperation
from spica.sim.engine.testbench import simulate
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.special import fit as special_fit
from spica.sim.golden.arith.special import truncated_products as special_arithmetic
from spica.sim.golden.arith.special.errors import SWEEPS, exact, measured
from spica.sim.golden.arith.special.special_function import lookup, special_function, turns
from support.vectors import evaluate, require_equal

LATENCIES = (6, 7, 8)
SIGN = 1 << 31
ONE = FP32.bias << FP32.fraction_width
INFINITY, NAN = FP32.infinity, FP32.nan

#: Error bound of `docs/special_functions.md`, in units in the last place.
BOUND = 1.0
#: Error bound of sine and cosine if the result is small and the angle is not.
ABSOLUTE_BOUND = 2.0**-24


@pytest.fixture
def page(page_writer):
    """Return the module that writes the documentation's tables."""
    return page_writer("special_functions")


def stored(values) -> np.ndarray:
    """Return floats as stored."""
    return floats.encode(np.asarray(values, np.float64), FP32)


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.quick(1)
def test_unit_matches_golden_model(latency):
    vectors = special_operands(np.random.default_rng(latency), 500 if latency == 7 else 150)
    operation, a = vectors["operation"], vectors["a"]
    dut = SpecialFunction(SpecialFunctionConfig(latency=latency))
    results = evaluate(dut, {"operation": operation, "a": a}, latency=latency)["o"]
    require_equal(results, special_function(operation, a), operation=operation, a=a)


#: SpecialOperation, operand and result, all as stored.
KNOWN = [
    *[
        (SpecialOperation.RCP, a, o)
        for a, o in [(0, INFINITY), (INFINITY, 0), (ONE, ONE), (1, INFINITY)]
    ],
    *[
        (SpecialOperation.RCP, a | SIGN, o | SIGN)
        for a, o in [(0, INFINITY), (INFINITY, 0), (ONE, ONE)]
    ],
    # The largest number with a finite reciprocal's neighbours, and a subnormal result.
    (SpecialOperation.RCP, 1 << 21, INFINITY),
    (SpecialOperation.RCP, 1 << 22, 254 << 23),
    (SpecialOperation.RCP, 254 << 23, 1 << 22),
    (SpecialOperation.RSQRT, 0, INFINITY),
    (SpecialOperation.RSQRT, SIGN, INFINITY | SIGN),
    (SpecialOperation.RSQRT, INFINITY, 0),
    *[(SpecialOperation.RSQRT, a | SIGN, NAN) for a in (1, ONE, INFINITY)],
    (SpecialOperation.RSQRT, ONE, ONE),
    (SpecialOperation.RSQRT, ONE + (2 << 23), ONE - (1 << 23)),
    (SpecialOperation.RSQRT, 1 << 1, ONE + (74 << 23)),
    *[(SpecialOperation.EXP2, a, ONE) for a in (0, SIGN, 1, SIGN | 1, 0x33000000)],
    (SpecialOperation.EXP2, INFINITY, INFINITY),
    (SpecialOperation.EXP2, INFINITY | SIGN, 0),
    (SpecialOperation.EXP2, 0x43000000, INFINITY),
    (SpecialOperation.EXP2, 0x42FE0000, 254 << 23),
    (SpecialOperation.EXP2, 0xC2FC0000, 1 << 23),
    (SpecialOperation.EXP2, 0xC3150000, 1),
    (SpecialOperation.EXP2, 0xC3160000, 0),
    (SpecialOperation.EXP2, 0xC3800000, 0),
    *[(SpecialOperation.LOG2, a, INFINITY | SIGN) for a in (0, SIGN)],
    *[(SpecialOperation.LOG2, a | SIGN, NAN) for a in (1, ONE, INFINITY)],
    (SpecialOperation.LOG2, INFINITY, INFINITY),
    (SpecialOperation.LOG2, ONE, 0),
    (SpecialOperation.LOG2, 1, 0xC3150000),
    *[(SpecialOperation.SIN, a, a) for a in (0, SIGN, 1, SIGN | 1, 1 << 23, 0x39000000)],
    *[(SpecialOperation.COS, a, ONE) for a in (0, SIGN, 1, SIGN | 1, 0x39000000)],
    *[(circular, INFINITY | s, NAN) for circular in (4, 5) for s in (0, SIGN)],
    *[
        (operation, a, NAN)
        for operation in SpecialOperation
        for a in (NAN, NAN | SIGN, INFINITY + 1)
    ],
]


def test_known_results():
    operation, a, expected = (np.array(column) for column in zip(*KNOWN, strict=True))
    require_equal(special_function(operation, a), expected, operation=operation, a=a)
    dut = SpecialFunction(SpecialFunctionConfig())
    results = evaluate(dut, {"operation": operation, "a": a}, latency=dut.config.latency)["o"]
    require_equal(results, expected, operation=operation, a=a)


def test_where_segments_change_their_length():
    """Segments of rsqrt (odd and even), log2, and sine, also used as cosine."""
    borders = [1.25, 2.5, 1.40625, 0.703125, np.pi / 8, 7 * np.pi / 8, 5 * np.pi / 8]
    operations = (
        [SpecialOperation.RSQRT] * 2
        + [SpecialOperation.LOG2] * 2
        + [SpecialOperation.SIN] * 2
        + [SpecialOperation.COS]
    )
    moves = np.array([-900, -30, -1, 0, 1, 30, 900])
    a = (stored(borders).astype(np.int64)[:, np.newaxis] + moves).ravel()
    operation = np.repeat(operations, len(moves))
    dut = SpecialFunction(SpecialFunctionConfig())
    results = evaluate(dut, {"operation": operation, "a": a}, latency=dut.config.latency)["o"]
    require_equal(results, special_function(operation, a), operation=operation, a=a)


@pytest.mark.parametrize(
    "operation", [SpecialOperation.RCP, SpecialOperation.RSQRT, SpecialOperation.LOG2]
)
def test_powers_of_two_are_exact(operation):
    step = 2 if operation == SpecialOperation.RSQRT else 1
    exponents = np.arange(-148, 128, step)
    a = stored(np.ldexp(1.0, exponents))
    assert np.array_equal(special_function(operation, a), stored(exact(operation, a)))


def test_powers_at_integers_are_exact():
    whole = np.arange(-149, 128)
    results = special_function(SpecialOperation.EXP2, stored(whole))
    assert np.array_equal(results, stored(np.ldexp(1.0, whole)))


@pytest.mark.parametrize(
    "operation", [SpecialOperation.RCP, SpecialOperation.SIN, SpecialOperation.COS]
)
def test_symmetry(operation):
    a = special_operands(np.random.default_rng(5), 50_000)["a"] & np.uint32(FP32.magnitude_mask)
    a = a[a <= INFINITY]
    results = special_function(operation, a)
    turned = np.where((results == NAN) | (operation == SpecialOperation.COS), 0, SIGN)
    assert np.array_equal(special_function(operation, a | np.uint32(SIGN)), results ^ turned)


@pytest.mark.parametrize("operation", [SpecialOperation.SIN, SpecialOperation.COS])
def test_circular_functions_stay_within_one(operation):
    near = np.rint(np.exp2(np.random.default_rng(6).uniform(0, 60, 50_000))) * (np.pi / 2)
    a = stored(near)
    assert np.all((special_function(operation, a) & FP32.magnitude_mask) <= ONE)


@pytest.mark.parametrize(
    ("operation", "exponents"),
    [
        (SpecialOperation.RCP, (0, 0)),
        (SpecialOperation.RSQRT, (0, 1)),
        (SpecialOperation.EXP2, (-2, 2)),
        (SpecialOperation.LOG2, (-2, 1)),
    ],
)
def test_monotonic(operation, exponents):
    """At every segment border, and at every stride in between."""
    first, last = (FP32.bias + exponent << FP32.fraction_width for exponent in exponents)
    last += 1 << FP32.fraction_width
    borders = np.arange(first, last, 1 << 15)[:, np.newaxis] + np.arange(-8, 8)
    a = np.unique(np.concatenate([borders.ravel(), np.arange(first, last, 251)]))
    values = floats.decode(special_function(operation, a), FP32)
    falling = operation in (SpecialOperation.RCP, SpecialOperation.RSQRT)
    assert np.all(np.diff(-values if falling else values) >= 0)


def bounded(sweep, stride):
    """Check the errors of a sweep and return them."""
    errors = measured(sweep, stride)
    assert errors.ulp < BOUND, f"{errors.ulp} at {errors.worst:#x}"
    if sweep.operation in (SpecialOperation.SIN, SpecialOperation.COS):
        assert errors.absolute < ABSOLUTE_BOUND
    assert errors.correct_share > 0.75
    return errors


def sweep_name(sweep):
    """Return the test ID of a sweep."""
    return f"{sweep.operation.name.lower()}, {sweep.text}"


@pytest.mark.parametrize("sweep", SWEEPS, ids=sweep_name)
@pytest.mark.quick(8)
def test_errors(sweep):
    bounded(sweep, 61 * len(sweep.exponents))


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS, ids=sweep_name)
def test_errors_of_every_fraction(sweep, page):
    assert page.error_row(sweep, bounded(sweep, 1)) in page.PAGE.read_text()


def test_documented_tables(page):
    text = page.PAGE.read_text()
    assert page.updated(text, [page.tables]) == text, "docs/special_functions.py updates the page"


@pytest.mark.slow
def test_errors_of_every_power():
    """All arguments of the table represent all fractions of all exponents."""
    count = 1 << special.ARGUMENT_WIDTH
    before = 0.0
    for start in range(0, count, 1 << 18):
        v = np.arange(start, start + (1 << 18))
        result = np.ldexp(lookup("exp2", v).astype(np.float64), 1 - special.VALUE_WIDTH)
        rounded = floats.decode(stored(result), FP32)
        for place in (0.0, 1.0):
            error = np.abs(rounded - np.exp2((v + place) / count))
            assert error.max() < np.ldexp(BOUND, -FP32.fraction_width)
        assert np.all(np.diff(rounded, prepend=before) >= 0)
        before = rounded[-1]


@pytest.mark.parametrize("operation", [SpecialOperation.SIN, SpecialOperation.COS])
def test_large_angles(operation):
    """Compared with mpmath, which reduces any angle exactly."""
    rng = np.random.default_rng(7)
    random = rng.integers(FP32.bias << 23, INFINITY, 2000, dtype=np.uint32)
    # The FP32 number nearest to a multiple of a right angle, and its neighbours.
    worst = stored(np.ldexp(16367173.0, 72)) + np.arange(-3, 4).astype(np.uint32)
    a = np.concatenate([random, worst, stored(np.rint(rng.uniform(0, 1e6, 500)) * (np.pi / 2))])
    function = mp.sin if operation == SpecialOperation.SIN else mp.cos
    with mp.workprec(200):
        expected = np.array([float(function(mp.mpf(float(x)))) for x in floats.decode(a, FP32)])
    results = floats.decode(special_function(operation, a), FP32)
    assert np.abs(results - expected).max() < ABSOLUTE_BOUND


@pytest.mark.parametrize("operation", SpecialOperation)
def test_against_mpmath(operation):
    """Checks NumPy's functions, which errors are measured against."""
    a = special_operands(np.random.default_rng(8), 3000)["a"]
    a = a[(a > 0) & (a < INFINITY)]
    if operation == SpecialOperation.EXP2:
        a = a[a < 0x43000000]
    functions = [lambda x: 1 / x, lambda x: 1 / mp.sqrt(x), lambda x: mp.mpf(2) ** x]
    functions += [lambda x: mp.log(x) / mp.log(2), mp.sin, mp.cos]
    with mp.workprec(300):
        expected = [float(functions[operation](mp.mpf(float(x)))) for x in floats.decode(a, FP32)]
    np.testing.assert_allclose(exact(operation, a), expected, rtol=1e-13, atol=1e-15)


def test_turns():
    """Within the rows' dropped bits of the exact angle."""
    rng = np.random.default_rng(9)
    significand = rng.integers(1 << 23, 1 << 24, 500)
    exponent = rng.integers(-1, 128, 500)
    got = turns(significand, exponent)
    unit = 1 << special.TURN_WIDTH
    with mp.workprec(300):
        for s, e, word in zip(significand, exponent, got, strict=True):
            whole = mp.ldexp(mp.mpf(int(s)), int(e) - 23) / (2 * mp.pi)
            error = (mp.mpf(int(word)) / unit - whole) % 1
            assert min(error, 1 - error) * unit < special.SIGNIFICAND_DIGITS + 1


def test_square():
    x = np.array([0, 1, (1 << 20) - 1, 1 << 19, *range(12345, 1 << 20, 9973)])
    dut = Square()
    results = []

    async def testbench(ctx):
        for value in x:
            ctx.set(dut.i, int(value))
            await ctx.delay(1e-6)
            results.append(ctx.get(dut.o))

    simulate(dut, testbench, domains=())
    assert np.array_equal(results, special_arithmetic.square(x))
    below = np.ldexp(x.astype(np.float64), -20) ** 2 - np.ldexp(np.array(results, float), -18)
    assert below.min() >= 0
    assert below.max() < 2 * 2.0**-special.SQUARED_WIDTH + special.SQUARED_WIDTH * 2.0**-18


@pytest.mark.parametrize("name", ["log2_upper", "exp2"])
@pytest.mark.quick(1)
def test_coefficients_are_what_the_fit_gives(name):
    assert tuple(special_fit.fitted(name)) == COEFFICIENTS[name]


@pytest.mark.slow
def test_every_coefficient_is_what_the_fit_gives():
    assert special_fit.coefficients_text() == special_fit.PATH.read_text()


def test_inverse_turn():
    assert special_fit.inverse_turn() == (INVERSE_TURN, INVERSE_TURN_WIDTH)


@pytest.mark.parametrize("name", TABLES)
def test_coefficients_fit_their_widths(name):
    rows = COEFFICIENTS[name]
    assert len(rows) == TABLES[name].segments
    for c0, c1, c2 in rows:
        assert 0 <= c0 < 2 << special.C0_WIDTH
        assert abs(2 * c1 + 1) < 1 << special.C1_BITS
        assert abs(2 * c2 + 1) < 1 << special.C2_BITS


@pytest.mark.parametrize("name", TABLES)
def test_values_are_from_a_half_to_one(name):
    """Or a few units beyond, which rounding removes."""
    end = TABLES[name].pieces[-1].end
    values = lookup(name, np.append(np.arange(0, end, 97), end - 1))
    assert values.min() >= (1 << (special.VALUE_WIDTH - 1)) - 4
    assert values.max() <= (1 << special.VALUE_WIDTH) + 4


@pytest.mark.full
def test_hardware_needs_no_mpmath():
    code = (
        "import sys; from amaranth.back import rtlil;"
        "from spica.hw.arith.special.special_function import *;"
        "rtlil.convert(SpecialFunction(SpecialFunctionConfig()));"
        "assert not {'mpmath', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("latency", [5, 9])
def test_bad_latency_is_refused(latency):
    with pytest.raises(ValueError, match=f"latency must be between 6 and 8, not {latency}"):
        SpecialFunctionConfig(latency=latency)
