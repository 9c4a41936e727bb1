"""Tests of every format and code: table, decoding and rounding, against gfloat and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bench.oracle import narrow_formats as small
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import (
    E8M0,
    FORMATS,
    FP4_E2M1,
    FP6_E2M3,
    FP6_E3M2,
    FP8_E4M3,
    FP8_E5M2,
    FP32,
    UE4M3,
    FloatFormat,
)
from spica.sim.golden.arith.float import floats

pytest.importorskip("gfloat")

FLOATS = [form for form in FORMATS.values() if isinstance(form, FloatFormat)]
NARROW = [form for form in FLOATS if form != FP32]
BY_NAME = {"argvalues": FLOATS, "ids": [form.name for form in FLOATS]}

#: Largest number, least normal, least above zero, codes of NaN: from the specifications.
PUBLISHED = {
    "fp32": (2.0**128 - 2.0**104, 2.0**-126, 2.0**-149, (1 << 24) - 2),
    "fp16": (65504, 2.0**-14, 2.0**-24, (1 << 11) - 2),
    "bf16": (2.0**128 - 2.0**120, 2.0**-126, 2.0**-133, (1 << 8) - 2),
    "tf32": (2.0**128 - 2.0**117, 2.0**-126, 2.0**-136, (1 << 11) - 2),
    "fp8_e5m2": (57344, 2.0**-14, 2.0**-16, 6),
    "fp8_e4m3": (448, 2.0**-6, 2.0**-9, 2),
    "fp6_e3m2": (28, 0.25, 0.0625, 0),
    "fp6_e2m3": (7.5, 1, 0.125, 0),
    "fp4_e2m1": (6, 1, 0.5, 0),
    "e8m0": (2.0**127, 2.0**-127, 2.0**-127, 1),
    "ue4m3": (448, 2.0**-6, 2.0**-9, 1),
}


def numbers(form):
    """Return every finite value of a narrow format; of a wide one, some and their neighbours."""
    codes = np.arange(1 << form.width) if form.width <= 16 else floats.corners(form)
    if form.width > 16:
        random = np.random.default_rng(0).integers(0, 1 << form.width, 3000, dtype=np.uint32)
        codes = np.concatenate([codes, random]) & ~np.uint32(1)
        codes = np.concatenate([codes, codes + 1])
    values = floats.decode(codes, form)
    return np.unique(values[np.isfinite(values)])


def values_to_round(form):
    """Return numbers, midpoints, their neighbours, and values outside the range."""
    near = numbers(form)
    largest, least = near[-1], near[near > 0][0]
    middles = near[:-1] + np.diff(near) / 2
    # The first number that overflows to nearest, and larger ones.
    step = largest - floats.decode(form.largest - 1, form)
    above = largest + step * np.array([0.25, 0.5, 0.75, 1, 1.5, 2, 16])
    below = least * np.array([0.25, 0.5, 0.75, 2.0**-20])
    centres = np.concatenate([near, middles, above, -above, below, -below, [0.0]])
    # One step to either side in float64, and one in float32.
    with np.errstate(over="ignore"):
        single = centres.astype(np.float32)
        beside = [
            *(np.nextafter(centres, to) for to in (np.inf, -np.inf)),
            *(np.nextafter(single, np.float32(to)).astype(np.float64) for to in (np.inf, -np.inf)),
        ]
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan]
    everything = np.concatenate([centres, single.astype(np.float64), *beside, specials])
    return np.unique(everything.view(np.int64)).view(np.float64)


def agree(values, got, expected):
    """Fail with the first values whose codes differ; masked values of `expected` are skipped."""
    wrong = np.nonzero(np.ma.filled(got != expected, False))[0]
    shown = [f"{values[k].hex()}: {got[k]:#x}, not {int(expected[k]):#x}" for k in wrong[:5]]
    assert not shown, f"{len(wrong)} of {len(values)} wrong: " + "; ".join(shown)


@pytest.mark.parametrize("form", **BY_NAME)
def test_table_is_that_of_the_specification(form):
    largest, least_normal, least, nans = PUBLISHED[form.name]
    codes = np.array([form.largest, 1 << form.fraction_width if form.subnormals else 0])
    assert floats.decode(codes, form).tolist() == [largest, least_normal]
    assert math.ldexp(1, form.least_exponent) == least
    assert floats.decode(np.array([1 if form.subnormals else 0]), form) == least
    assert 2.0**form.largest_exponent <= largest < 2.0 ** (form.largest_exponent + 1)
    assert form.has_nan == (nans > 0)
    assert form.width == form.signed + form.exponent_width + form.significand_width - 1
    if form != FP32:
        values = floats.decode(np.arange(1 << form.width), form)
        assert np.isnan(values).sum() == nans
        assert np.isinf(values).sum() == 2 * form.has_infinity
        assert np.nanmax(np.where(np.isinf(values), np.nan, values)) == largest


@pytest.mark.parametrize("form", **BY_NAME)
def test_special_codes(form):
    if form.has_nan:
        assert np.isnan(floats.decode(np.array([form.nan]), form))
    else:
        with pytest.raises(ValueError, match=f"{form.name} has no NaN"):
            _ = form.nan
    if form.has_infinity:
        assert floats.decode(np.array([form.infinity]), form) == np.inf
        assert form.overflow == form.infinity
    else:
        with pytest.raises(ValueError, match=f"{form.name} has no infinity"):
            _ = form.infinity
        assert form.overflow == (form.nan if form.has_nan else form.largest)


@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
def test_codes_are_ordered_and_restored(form):
    codes = np.arange(1 << form.magnitude_width)
    values = floats.decode(codes, form)
    finite = np.isfinite(values)
    assert np.all(np.diff(values[finite]) > 0)
    for mode in Rounding:
        assert np.array_equal(floats.encode(values[finite], form, mode), codes[finite])
        if form.signed:
            negative = codes[finite] | 1 << form.magnitude_width
            assert np.array_equal(floats.encode(-values[finite], form, mode), negative)


@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
def test_every_code_is_worth_what_gfloat_says(form):
    codes = np.arange(1 << form.width)
    ours, theirs = floats.decode(codes, form), small.decode_by_gfloat(codes, form)
    assert np.array_equal(ours, theirs, equal_nan=True)
    is_number = ~np.isnan(ours)
    assert np.array_equal(np.signbit(ours)[is_number], np.signbit(theirs)[is_number])


def test_codes_of_fp32():
    random = np.random.default_rng(0).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    codes = np.concatenate([floats.corners(FP32), random])
    theirs = small.decode_by_gfloat(codes, FP32)
    assert np.array_equal(floats.decode(codes, FP32), theirs, equal_nan=True)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("mode", Rounding)
@pytest.mark.parametrize("form", **BY_NAME)
@pytest.mark.quick(4)
def test_rounding_is_that_of_gfloat(form, mode, saturate):
    values = values_to_round(form)
    expected = small.encode_by_gfloat(values, form, mode, saturate=saturate)
    agree(values, floats.encode(values, form, mode, saturate=saturate), expected)
    # It does not define NaN in some formats, nor much below zero in the unsigned ones.
    assert expected.mask.mean() < (0.5 if form.signed else 0.99)
    assert form.signed or (~expected.mask).sum() > 2 * form.largest


@pytest.mark.parametrize(
    "form",
    [FP8_E5M2, FP8_E4M3, FP6_E3M2, FP6_E2M3, FP4_E2M1, E8M0, UE4M3],
    ids=lambda form: form.name,
)
@pytest.mark.parametrize("mode", Rounding)
@pytest.mark.quick(1)
def test_rounding_is_that_of_the_definition(form, mode):
    """By exact fractions: the mode selects one of the two numbers that enclose the value."""
    codes = np.arange(form.largest + 1)
    known = [Fraction(float(value)) for value in floats.decode(codes, form)]
    values = values_to_round(form)
    inside = (values >= float(known[0])) & (values <= float(known[-1])) & ~np.signbit(values)
    for value in values[inside]:
        exact = Fraction(float(value))
        above = next(k for k, number in enumerate(known) if number >= exact)
        below = above if known[above] == exact else above - 1
        middle = (known[above] + known[below]) / 2
        tie = {Rounding.NEAREST_AWAY: above}.get(mode, above if above % 2 == 0 else below)
        nearest = tie if exact == middle else above if exact > middle else below
        expected = {
            Rounding.TOWARD_ZERO: below,
            Rounding.DOWN: below,
            Rounding.UP: above,
        }.get(mode, nearest)
        assert floats.encode(np.array([value]), form, mode)[0] == expected, value.hex()


@pytest.mark.parametrize("form", [E8M0, UE4M3], ids=lambda form: form.name)
@pytest.mark.parametrize("mode", Rounding)
def test_what_unsigned_formats_do_below_zero(form, mode):
    """No library defines this: NaN, or the least number if requested; also for a missing zero."""
    values = np.array([-1e-30, -1.0, -1e30, -np.inf])
    assert floats.encode(values, form, mode).tolist() == [form.nan] * 4
    assert floats.encode(values, form, mode, saturate=True).tolist() == [0] * 4
    zero = floats.encode(np.array([0.0, -0.0]), form, mode).tolist()
    assert zero == ([0, 0] if form.subnormals else [form.nan] * 2)


@pytest.mark.parametrize("form", **BY_NAME)
def test_nan_and_infinity(form):
    values = np.array([np.nan, -np.nan, np.inf, -np.inf])
    nan = form.nan if form.has_nan else form.largest
    sign = 1 << form.magnitude_width if form.signed else 0
    plain = floats.encode(values, form).tolist()
    saturated = floats.encode(values, form, saturate=True).tolist()
    assert plain[:2] == saturated[:2] == [nan, nan]
    assert saturated[2:] == [form.largest, form.largest | sign if form.signed else 0]
    overflow = form.overflow
    negative = overflow | sign if form.signed and overflow != nan else nan
    assert plain[2] == overflow
    if form.signed and not form.has_nan:
        negative = form.largest | sign
    assert plain[3] == negative


@pytest.mark.parametrize("form", **BY_NAME)
def test_corners_are_distinct_codes_with_every_class(form):
    codes = floats.corners(form)
    assert len(set(codes.tolist())) == len(codes)
    assert codes.max() < 1 << form.width
    values = floats.decode(codes, form)
    assert np.any(np.isnan(values)) == form.has_nan
    assert np.any(np.isinf(values)) == form.has_infinity
    assert {form.largest, 0} <= set(codes.tolist())
    if form.signed:
        assert np.array_equal(np.sort(codes ^ (1 << form.magnitude_width)), np.sort(codes))
