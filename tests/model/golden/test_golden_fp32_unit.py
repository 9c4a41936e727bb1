"""Tests of the golden models of classes, comparisons and integer conversions by the standards."""

import numpy as np
import pytest

from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.isa.operations import FloatOperation
from spica.sim.golden.core.units.fp32.float_conversion import to_integer
from spica.sim.golden.core.units.fp32.non_computational import CLASSES, classify, compare
from spica.sim.units.arith.fp32_lane import related_pairs

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
    found, raised = to_integer(stored, is_signed, rounding)
    assert (found.tolist(), raised.tolist()) == ([result & 0xFFFF_FFFF], [flags])
