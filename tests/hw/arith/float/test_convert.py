"""Tests of conversions between all pairs of formats: golden model and two oracles."""

import re

import numpy as np
import pytest
from amaranth import *
from amaranth.back import rtlil

from bench.units.conversions import (
    FORMS,
    Conversions,
    conversion_operands,
    every_conversion,
    golden,
)
from spica.hw.arith.float.convert import Convert, ConvertConfig
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP8_E4M3,
    FP16,
    FP32,
    INT8,
    TF32,
)
from spica.sim.golden.arith.float import floats
from spica.synth.measure import measure
from support.vectors import evaluate, require_equal

SOURCES = {form.name: form for form in FORMS}
DEPTH = 60


def run(dut, i, rounding):
    """Return each output for each vector, a dict of arrays."""
    inputs = {"i": i, "rounding": rounding} if dut.modes else {"i": i}
    names = [form.name + suffix for form in FORMS for suffix in ("", "_saturated")]
    return evaluate(dut, inputs, names, latency=1)


def check(results, expected, i):
    for name, values in expected.items():
        require_equal(results[name], values, **{f"{name} of": i})


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.quick(1)
def test_every_pair_in_every_mode(name):
    source = SOURCES[name]
    vectors = conversion_operands(np.random.default_rng(1), 300, source)
    results = run(Conversions(source), **vectors)
    check(results, golden(source, **vectors), vectors["i"])


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.quick(1)
def test_every_pair_to_nearest_even(name):
    source = SOURCES[name]
    vectors = conversion_operands(np.random.default_rng(2), 300, source)
    results = run(Conversions(source, modes=False), **vectors)
    check(results, golden(source, vectors["i"]), vectors["i"])


def is_widening(source, target):
    """Return whether each finite number of `source` survives the round trip through `target`."""
    if source.width > 19:
        return target == source
    codes = np.arange(1 << source.width)
    values = floats.decode(codes, source)
    codes = codes[np.isfinite(values)]
    values = floats.decode(codes, source)
    back = floats.decode(floats.encode(values, target), target)
    if not target.signed or not target.subnormals:
        # The rounder handles values below an unsigned format.
        positive = values > 0
        values, back = values[positive], back[positive]
    return bool(np.all(back == values))


@pytest.mark.parametrize("modes", [False, True])
@pytest.mark.parametrize("source", FORMS, ids=SOURCES)
@pytest.mark.quick(2)
def test_widening_takes_no_rounder(source, modes):
    for target in FORMS:
        config = ConvertConfig(source=source, target=target, modes=modes)
        assert config.is_exact == is_widening(source, target), target.name
        has_rounder = re.search(r"cell \S+ \\round$", rtlil.convert(Convert(config)), re.M)
        assert bool(has_rounder) != config.is_exact, target.name


@pytest.mark.parametrize("source", FORMS, ids=SOURCES)
@pytest.mark.quick(4)
def test_golden_model_agrees_with_gfloat(source):
    small = pytest.importorskip("bench.oracle.narrow_formats")
    pytest.importorskip("gfloat")
    rng = np.random.default_rng(3)
    vectors = conversion_operands(rng, 20_000, source)
    if source.width <= 8:
        vectors = every_conversion(source)
    expected = golden(source, **vectors)
    values = small.decode_by_gfloat(vectors["i"], source)
    for form in FORMS:
        for suffix, saturate in (("", False), ("_saturated", True)):
            result = small.encode_by_gfloat(values, form, vectors["rounding"], saturate=saturate)
            assert np.ma.count(result) > len(values) // 4
            assert np.ma.allequal(result, expected[form.name + suffix]), form.name


@pytest.mark.parametrize(
    ("source", "target", "modes", "cells", "depth"),
    [
        (FP32, FP16, False, 22, 29),
        (FP32, FP16, True, 37, 33),
        (FP32, BF16, False, 12, 15),
        (FP32, FP8_E4M3, True, 38, 33),
        (FP16, FP32, False, 18, 16),
        (FP8_E4M3, FP32, False, 12, 8),
        (E8M0, FP32, False, 7, 5),
        (TF32, FP32, True, 2, 7),
        (FP32, FP32, True, 2, 8),
    ],
)
@pytest.mark.quick(1)
def test_cells_and_depth(source, target, modes, cells, depth):
    config = ConvertConfig(source=source, target=target, modes=modes)
    measured = measure(Convert(config), "convert")
    assert measured.cells <= cells
    assert measured.depth <= depth


@pytest.mark.slow
@pytest.mark.parametrize("source", FORMS, ids=SOURCES)
def test_depth_to_all_formats(source):
    assert measure(Conversions(source), source.name).depth <= DEPTH


def test_integers_are_refused():
    with pytest.raises(TypeError, match="target must be a FloatFormat, not IntFormat"):
        ConvertConfig(target=INT8)
