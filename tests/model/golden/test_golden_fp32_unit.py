"""Tests of the golden models of FP32 operations and 16-bit conversions against independent ones."""

import numpy as np
import pytest

from bench.units.fp32_lane import related_pairs
from bench.units.operands.narrow import narrowing_operands
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import BF16, FP16, FP32
from spica.hw.isa.operations import FloatOperation
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.narrow import narrow, widen
from spica.sim.golden.core.units.fp32.float_conversion import to_integer
from spica.sim.golden.core.units.fp32.non_computational import CLASSES, classify, compare

NEAREST, ZERO, DOWN, UP, AWAY = Rounding
INEXACT, INVALID = FLAGS["inexact"], FLAGS["invalid"]
PLUS_ZERO, MINUS_ZERO, ONE, TWO = 0, 1 << 31, 0x3F800000, 0x40000000
QUIET, SIGNALLING, CANONICAL = 0xFFC12345, 0x7F800001, 0x7FC00000


@pytest.mark.parametrize(
    ("code", "name", "number"),
    [
        (0xFF800000, "negative_infinity", 0),
        (0x80800000, "negative_normal", 1),
        (0x807FFFFF, "negative_subnormal", 2),
        (0x80000000, "negative_zero", 3),
        (0x00000000, "positive_zero", 4),
        (0x00000001, "positive_subnormal", 5),
        (0x7F7FFFFF, "positive_normal", 6),
        (0x7F800000, "positive_infinity", 7),
        (0xFFBFFFFF, "signalling_nan", 8),
        (0x7FC00000, "quiet_nan", 9),
    ],
)
def test_class_by_name(code, name, number):
    assert CLASSES[number] == name
    assert classify(np.array([code])).tolist() == [1 << number]


@pytest.mark.parametrize(
    ("operation", "a", "b", "result", "flags"),
    [
        (FloatOperation.EQ, PLUS_ZERO, MINUS_ZERO, 1, 0),
        (FloatOperation.EQ, QUIET, QUIET, 0, 0),
        (FloatOperation.EQ, ONE, SIGNALLING, 0, INVALID),
        (FloatOperation.LT, MINUS_ZERO, PLUS_ZERO, 0, 0),
        (FloatOperation.LT, QUIET, ONE, 0, INVALID),
        (FloatOperation.LE, PLUS_ZERO, MINUS_ZERO, 1, 0),
        (FloatOperation.LE, ONE, QUIET, 0, INVALID),
        (FloatOperation.MIN, PLUS_ZERO, MINUS_ZERO, MINUS_ZERO, 0),
        (FloatOperation.MAX, MINUS_ZERO, PLUS_ZERO, PLUS_ZERO, 0),
        (FloatOperation.MIN, QUIET, ONE, ONE, 0),
        (FloatOperation.MIN, SIGNALLING, ONE, ONE, INVALID),
        (FloatOperation.MAX, TWO, SIGNALLING, TWO, INVALID),
        (FloatOperation.MAX, QUIET, SIGNALLING, CANONICAL, INVALID),
        (FloatOperation.MIN, QUIET, QUIET, CANONICAL, 0),
    ],
)
def test_comparison_by_the_standard(operation, a, b, result, flags):
    assert [int(x) for x in compare(operation, a, b)] == [result, flags]


def test_comparison_agrees_with_numpy():
    a, b = related_pairs(np.random.default_rng(7), 50_000)
    x, y = a.view(np.float32), b.view(np.float32)
    for operation, expected in (
        (FloatOperation.EQ, x == y),
        (FloatOperation.LT, x < y),
        (FloatOperation.LE, x <= y),
    ):
        assert np.array_equal(compare(operation, a, b)[0], expected)


@pytest.mark.parametrize(
    ("value", "is_signed", "rounding", "result", "flags"),
    [
        (2.5, True, NEAREST, 2, INEXACT),
        (2.5, True, AWAY, 3, INEXACT),
        (-2.5, True, AWAY, -3, INEXACT),
        (-2.5, True, UP, -2, INEXACT),
        (-2.5, True, DOWN, -3, INEXACT),
        (-0.5, False, NEAREST, 0, INEXACT),
        (-0.5, False, DOWN, 0, INVALID),
        (-1.0, False, ZERO, 0, INVALID),
        (-0.0, False, DOWN, 0, 0),
        (1e-45, True, UP, 1, INEXACT),
        (2.0**31 - 128, True, UP, 2**31 - 128, 0),
        (2.0**31, True, ZERO, 2**31 - 1, INVALID),
        (-(2.0**31), True, ZERO, -(2**31), 0),
        (-(2.0**31) - 256, True, UP, -(2**31), INVALID),
        (2.0**31, False, ZERO, 2**31, 0),
        (2.0**32, False, ZERO, 2**32 - 1, INVALID),
        (np.inf, True, ZERO, 2**31 - 1, INVALID),
        (-np.inf, True, ZERO, -(2**31), INVALID),
        (-np.inf, False, ZERO, 0, INVALID),
        (np.nan, True, ZERO, 2**31 - 1, INVALID),
        (-np.nan, False, ZERO, 2**32 - 1, INVALID),
    ],
)
def test_ends_of_the_ranges(value, is_signed, rounding, result, flags):
    stored = np.array([value], np.float32).view(np.uint32)
    results, raised = to_integer(stored, is_signed, rounding)
    assert (results.tolist(), raised.tolist()) == ([result & 0xFFFF_FFFF], [flags])


FORMS = {"fp16": FP16, "bf16": BF16}
CODES = np.arange(1 << 16, dtype=np.uint32)
UNDERFLOW, OVERFLOW = INEXACT | FLAGS["underflow"], INEXACT | FLAGS["overflow"]


def operands(count: int) -> np.ndarray:
    """Return FP32 numbers near those of both formats, and corners."""
    return np.concatenate([narrowing_operands(np.random.default_rng(1), count), corners(FP32)])


def type_of(form) -> np.dtype:
    """Return the NumPy type of a format."""
    if form == FP16:
        return np.dtype(np.float16)
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)


@pytest.mark.parametrize("name", FORMS)
def test_values_agree_with_numpy_and_ml_dtypes(name):
    form = FORMS[name]
    i = operands(500_000)
    with np.errstate(all="ignore"):
        expected = i.view(np.float32).astype(type_of(form)).view(np.uint16)
        is_nan = np.isnan(i.view(np.float32))
        assert np.array_equal(narrow(i, form)[0], np.where(is_nan, form.nan, expected))
        wide = CODES.astype(np.uint16).view(type_of(form)).astype(np.float32)
    expected = np.where(np.isnan(wide), np.uint32(FP32.nan), wide.view(np.uint32))
    assert np.array_equal(widen(CODES, form)[0], expected)


@pytest.mark.parametrize("name", FORMS)
def test_values_and_flags_agree_with_gfloat(name):
    pytest.importorskip("gfloat")
    from bench.oracle.narrow_formats import narrow_by_gfloat, widen_by_gfloat

    form, i = FORMS[name], operands(200_000)
    for mode in Rounding:
        got, expected = narrow(i, form, mode), narrow_by_gfloat(i, form, mode)
        assert all(map(np.array_equal, got, expected)), mode
    assert all(map(np.array_equal, widen(CODES, form), widen_by_gfloat(CODES, form)))


@pytest.mark.parametrize(
    ("value", "name", "rounding", "result", "flags"),
    [
        (1.0, "fp16", UP, 0x3C00, 0),
        (65504.0, "fp16", UP, 0x7BFF, 0),
        (65519.996, "fp16", NEAREST, 0x7BFF, INEXACT),
        (65520.0, "fp16", NEAREST, 0x7C00, OVERFLOW),
        (65520.0, "fp16", ZERO, 0x7BFF, INEXACT),
        (65536.0, "fp16", ZERO, 0x7BFF, OVERFLOW),
        (-65536.0, "fp16", UP, 0xFBFF, OVERFLOW),
        (-65536.0, "fp16", AWAY, 0xFC00, OVERFLOW),
        (2.0**-25, "fp16", NEAREST, 0x0000, UNDERFLOW),
        (2.0**-25, "fp16", AWAY, 0x0001, UNDERFLOW),
        (-(2.0**-149), "fp16", DOWN, 0x8001, UNDERFLOW),
        (2.0**-24, "fp16", UP, 0x0001, 0),
        # Tiny before rounding, but not after it; and tiny after it too.
        (2.0**-14 - 2.0**-37, "fp16", NEAREST, 0x0400, INEXACT),
        (2.0**-14 - 2.0**-25, "fp16", NEAREST, 0x0400, UNDERFLOW),
        (2.0**-126 - 2.0**-149, "bf16", NEAREST, 0x0080, INEXACT),
        (2.0**-126 - 2.0**-134, "bf16", NEAREST, 0x0080, UNDERFLOW),
        (2.0**-149, "bf16", UP, 0x0001, UNDERFLOW),
        (2.0**-133, "bf16", UP, 0x0001, 0),
        (3.4e38, "bf16", NEAREST, 0x7F80, OVERFLOW),
        (3.4e38, "bf16", ZERO, 0x7F7F, INEXACT),
        (-np.inf, "fp16", ZERO, 0xFC00, 0),
        (-np.nan, "fp16", ZERO, 0x7E00, 0),
        (-np.nan, "bf16", ZERO, 0x7FC0, 0),
    ],
)
def test_known_results(value, name, rounding, result, flags):
    stored = np.array([value], np.float32).view(np.uint32)
    results, raised = narrow(stored, FORMS[name], rounding)
    assert (results.tolist(), raised.tolist()) == ([result], [flags])


def test_a_signalling_nan_is_invalid():
    for form in FORMS.values():
        assert [x.tolist() for x in narrow([0x7F80_0001], form)] == [[form.nan], [INVALID]]
        signalling = form.infinity + 1
        assert [x.tolist() for x in widen([signalling], form)] == [[FP32.nan], [INVALID]]
        assert [x.tolist() for x in widen([form.nan + 1], form)] == [[FP32.nan], [0]]
