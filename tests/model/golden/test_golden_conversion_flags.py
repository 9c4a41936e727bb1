"""Tests of conversions to FP16 and BF16: results and flags against a definition in fractions."""

from fractions import Fraction
from math import floor, frexp

import numpy as np
import pytest

from bench.units.conversions import conversion_operands
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import BF16, FP16, FP32
from spica.sim.golden.arith.float import floats
from support.vectors import require_equal


def rounded(value, mode):
    """Return a fraction as an integer."""
    whole = floor(value)
    rest, half = value - whole, Fraction(1, 2)
    away = {
        Rounding.NEAREST_EVEN: rest > half or (rest == half and whole % 2),
        Rounding.TOWARD_ZERO: rest and value < 0,
        Rounding.DOWN: False,
        Rounding.UP: rest,
        Rounding.NEAREST_AWAY: rest > half or (rest == half and value > 0),
    }
    return whole + bool(away[mode])


def at_precision(value, form, mode, least):
    """Return a nonzero fraction rounded to the precision of `form`, units of at least 2**least."""
    exponent = max(least, frexp(value)[1] - form.significand_width)
    return rounded(value / Fraction(2) ** exponent, mode) * Fraction(2) ** exponent


def conversion(value, form, mode):
    """Return a finite fraction in `form`, infinite or not, and its flags, by IEEE 754."""
    if value == 0:
        return Fraction(0), 0
    result = at_precision(value, form, mode, form.least_exponent)
    largest = Fraction(float(floats.decode(form.largest, form)))
    if abs(result) > largest:
        sign = 1 if value > 0 else -1
        toward = Rounding.DOWN if value > 0 else Rounding.UP
        bounded = largest if mode in (Rounding.TOWARD_ZERO, toward) else float("inf")
        return sign * bounded, FLAGS["overflow"] | FLAGS["inexact"]
    if result == value:
        return result, 0
    # Tiny: below the smallest normal number even with an unbounded exponent.
    unbounded = at_precision(value, form, mode, form.least_exponent - FP32.bias)
    is_tiny = abs(unbounded) < Fraction(2) ** (1 - form.bias)
    return result, FLAGS["inexact"] | is_tiny * FLAGS["underflow"]


@pytest.mark.parametrize("form", [FP16, BF16], ids=lambda form: form.name)
def test_results_and_flags(form):
    rng = np.random.default_rng(form.exponent_width)
    i = conversion_operands(rng, 2_000, FP32)["i"]
    # Around the smallest normal number, where tininess depends on the rounding.
    normal = np.uint32((FP32.bias - form.bias + 1) << FP32.fraction_width)
    steps = np.concatenate([rng.integers(-(1 << 14), 64, 300), np.arange(-40, 8)])
    near = (normal + steps).astype(np.uint32) | rng.integers(0, 2, len(steps)).astype(
        np.uint32
    ) << np.uint32(31)
    i = np.concatenate([i, near])
    i = i[np.isfinite(floats.decode(i, FP32))]
    values = floats.decode(i, FP32)
    seen = 0
    for mode in Rounding:
        expected = [conversion(Fraction(value), form, mode) for value in values.tolist()]
        stored, flags = floats.rounded(values, form, mode)
        require_equal(flags, [flag for _, flag in expected], i=i)
        results = floats.decode(stored, form)
        require_equal(results, [float(result) for result, _ in expected], i=i)
        assert np.array_equal(np.signbit(results), np.signbit(values))
        seen |= int(np.bitwise_or.reduce(flags))
        assert (flags & FLAGS["underflow"] != 0).sum() > 20
    assert seen == FLAGS["inexact"] | FLAGS["underflow"] | FLAGS["overflow"]


def test_only_signalling_nan_are_invalid():
    """`rounded` has no operand, so it reports no NaN; `is_signalling` does."""
    codes = np.array([0x7FC0_0000, 0x7F80_0001, 0xFFBF_FFFF, 0x7F80_0000], np.uint32)
    assert floats.is_signalling(codes, FP32).tolist() == [False, True, True, False]
    for form in (FP16, BF16):
        stored, flags = floats.rounded(floats.decode(codes, FP32), form)
        assert stored.tolist() == [form.nan, form.nan, form.nan, form.infinity]
        assert flags.tolist() == [0, 0, 0, 0]
