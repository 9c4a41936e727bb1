"""Tests of the rounder against the golden model: every format, mode, flag and kind of overflow."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth import *

from spica.hw.arith.float.round import Round, RoundConfig
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import E8M0, FORMATS, FP4_E2M1, FloatFormat
from spica.sim.golden.arith.float import floats
from support.vectors import evaluate

FORMS = {name: form for name, form in FORMATS.items() if isinstance(form, FloatFormat)}
COUNT = 500


def rounded(config, vectors):
    """Return magnitudes, and flags if there are any, for a dict of arrays."""
    dut = Round(config)
    names = ("exponent", "significand", "rounding", "sign")
    inputs = {name: vectors[name] for name in names if hasattr(dut, name)}
    results = evaluate(dut, inputs, ("o", "flags") if config.flags else ("o",))
    return results["o"], results.get("flags")


def borders(rng, config, count):
    """Return significands with many ties, and exponents at the ends of the format."""
    width = config.significand_width
    lowest = width - config.form.significand_width
    ones = (1 << width) - 1
    tails = np.array([0, 1, (1 << lowest - 1) - 1, 1 << lowest - 1, (1 << lowest - 1) + 1, -1])
    digits = rng.integers(0, 1 << width, count) >> lowest << lowest
    digits = np.where(rng.random(count) < 0.4, ones >> lowest << lowest, digits)
    significand = (digits + rng.choice(tails, count)) & ones
    # Ties and carries one and two bits lower, where a subnormal is rounded.
    shifted = significand >> rng.integers(0, 3, count) | significand & 1
    significand = np.where(config.unnormalised, shifted, significand | 1 << width - 1)
    least, largest = config.least_exponent, config.form.largest >> config.form.fraction_width
    low = least if not config.underflows else least - width - 2
    high = largest + 3 if config.overflows else largest - 1
    limit = 1 << config.exponent_width - 1
    low, high = max(low, -limit), min(high, limit - 1)
    exponent = rng.integers(low, high + 1, count)
    near_least = rng.integers(max(low, least - 3), least + 2, count)
    near_largest = rng.integers(largest - 1, high + 1, count)
    exponent = np.select(
        [rng.random(count) < 0.4, rng.random(count) < 0.5], [near_least, near_largest], exponent
    )
    if config.underflows:
        exponent[:4] = -limit
    if config.overflows:
        exponent[4:8] = limit - 1
    return significand, exponent


def expected(config, vectors):
    """Return the golden model's result for the rounder's input value."""
    form = config.form
    exponent, significand = vectors["exponent"], vectors["significand"]
    top = significand >> config.significand_width - 1
    if not config.underflows:
        exponent = np.where(top == 1, exponent, config.least_exponent)
    scale = exponent - form.bias - config.significand_width + 1
    value = np.ldexp(significand.astype(np.float64), scale)
    value = np.where(vectors["sign"] == 1, -value, value)
    stored, flags = floats.rounded(
        value, replace(form, signed=True), vectors["rounding"], saturate=config.saturate
    )
    return stored & form.magnitude_mask, flags


def check(config, seed=0):
    rng = np.random.default_rng(seed)
    significand, exponent = borders(rng, config, COUNT)
    if config.unnormalised:
        if not config.form.subnormals:
            significand |= significand == 0
        if config.underflows:
            top = significand >> config.significand_width - 1
            exponent = np.where(top == 1, exponent, np.minimum(exponent, config.least_exponent))
    vectors = {
        "exponent": exponent,
        "significand": significand,
        "rounding": rng.choice(list(Rounding) if config.modes else [Rounding.NEAREST_EVEN], COUNT),
        "sign": rng.integers(0, 2, COUNT),
    }
    magnitude, flags = rounded(config, vectors)
    golden_magnitude, golden_flags = expected(config, vectors)
    assert np.array_equal(magnitude, golden_magnitude)
    if config.flags:
        assert np.array_equal(flags, golden_flags)
    return golden_flags


def config_of(form, *, extra=3, **options):
    return RoundConfig(
        form=form,
        significand_width=form.significand_width + extra,
        exponent_width=form.exponent_width + 2,
        **options,
    )


#: Options of a unit with every mode and flag.
COMPLETE = {"overflows": True, "modes": True, "flags": True}


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("extra", [2, 3, 9])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.quick(6)
def test_all_modes_and_flags(name, extra, saturate):
    config = config_of(FORMS[name], extra=extra, underflows=True, saturate=saturate, **COMPLETE)
    flags = check(config)
    for flag in ("inexact", "underflow", "overflow"):
        assert (flags & FLAGS[flag]).any()


@pytest.mark.parametrize("underflows", [False, True])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.quick(8)
def test_numbers_without_their_top_bit(name, underflows):
    config = config_of(FORMS[name], underflows=underflows, unnormalised=True, **COMPLETE)
    assert (check(config) & FLAGS["underflow"]).any()


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("overflows", [False, True])
@pytest.mark.parametrize("underflows", [False, True])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.quick(7)
def test_nearest_even(name, underflows, overflows, flags):
    check(config_of(FORMS[name], overflows=overflows, underflows=underflows, flags=flags))


@pytest.mark.parametrize("name", FORMS)
def test_static_mode_saturates(name):
    check(config_of(FORMS[name], overflows=True, underflows=True, saturate=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: config_of(FP4_E2M1, extra=1),
            "significand_width must be between 4 and 256, not 3",
        ),
        (
            lambda: config_of(FP4_E2M1, extra=2, unnormalised=True, flags=True),
            "significand_width must be between 5 and 256, not 4",
        ),
        (
            lambda: RoundConfig(form=E8M0, significand_width=3, exponent_width=8),
            "exponent_width must be between 9 and 32, not 8",
        ),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
