"""Tests of conversions between floats and integers: golden models, and these against QEMU."""

import numpy as np
import pytest
from amaranth import *

from spica.hw.arith.float.from_integer import FromInteger, FromIntegerConfig
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.arith.float.to_integer import ToInteger, ToIntegerConfig
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP4_E2M1,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    INT4,
    INT8,
    INT32,
    UE4M3,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float import conversions, floats
from spica.sim.golden.arith.float.operands import crossed, random_bits
from spica.sim.units.arith.comparisons import (
    FROM_INTEGER,
    TO_INTEGER,
    from_integer_operands,
    integer_reference,
    to_integer_operands,
)
from spica.synth.measure import measure

MODES = np.array(Rounding, np.uint32)
NEAREST, ZERO, DOWN, UP, AWAY = Rounding
INEXACT, INVALID = FLAGS["inexact"], FLAGS["invalid"]
LATENCIES = (0, 1)


def run(dut, vectors):
    """Return results and flags for each vector, one per cycle."""
    require_no_loop(dut)
    latency = dut.config.latency
    ports = [getattr(dut, name) for name in ("i", "is_signed", "rounding")]
    outputs = Cat(dut.o, Value.cast(dut.flags))
    words = []

    async def testbench(ctx):
        rows = zip(*(vectors[name] for name in ("i", "is_signed", "rounding")), strict=True)
        for row in [*rows, *[(0, 0, 0)] * latency]:
            packed = shift = 0
            for port, value in zip(ports, row, strict=True):
                packed |= int(value) << shift
                shift += len(port)
            ctx.set(Cat(ports), packed)
            if latency:
                _, _, word = await ctx.tick().sample(outputs)
            else:
                word = ctx.get(outputs)
            words.append(word)

    simulate(dut, testbench, domains=("sync",) if latency else ())
    words = np.array(words[latency:], np.int64)
    return words & ((1 << len(dut.o)) - 1), words >> len(dut.o)


def check(vectors, results, expected):
    for got, values, name in zip(results, expected, ("o", "flags"), strict=True):
        wrong = np.nonzero(got != values)[0]
        shown = [
            f"{[hex(int(v[k])) for v in vectors.values()]}: {got[k]:#x}, not {values[k]:#x}"
            for k in wrong[:5]
        ]
        assert not shown, f"{len(wrong)} {name} wrong: " + "; ".join(shown)


@pytest.mark.parametrize("latency", LATENCIES)
def test_from_integer(latency):
    vectors = from_integer_operands(np.random.default_rng(1), 500)
    dut = FromInteger(FromIntegerConfig(latency=latency))
    check(vectors, run(dut, vectors), conversions.from_integer(**vectors))


@pytest.mark.parametrize("latency", LATENCIES)
def test_to_integer(latency):
    vectors = to_integer_operands(np.random.default_rng(2), 800)
    dut = ToInteger(ToIntegerConfig(latency=latency))
    check(vectors, run(dut, vectors), conversions.to_integer(**vectors))


def operands(form, rng, count):
    return {
        "i": random_bits(rng, form, count),
        "is_signed": rng.integers(0, 2, count),
        "rounding": rng.integers(0, len(Rounding), count),
    }


@pytest.mark.parametrize(
    ("integer", "form", "overflows"),
    [
        (INT32, FP16, True),
        (INT32, BF16, False),
        (INT8, FP32, False),
        (INT8, FP8_E4M3, False),
        (INT4, FP4_E2M1, True),
    ],
)
def test_from_other_integers(integer, form, overflows):
    vectors = operands(integer, np.random.default_rng(3), 400)
    dut = FromInteger(FromIntegerConfig(integer=integer, form=form, latency=0))
    expected = conversions.from_integer(**vectors, integer=integer, form=form)
    check(vectors, run(dut, vectors), expected)
    assert (expected[1] & FLAGS["overflow"]).any() == overflows


@pytest.mark.parametrize(
    ("form", "integer"),
    [(FP16, INT32), (BF16, INT32), (FP8_E5M2, INT4), (FP8_E4M3, INT8), (FP4_E2M1, INT8)],
)
def test_to_other_integers(form, integer):
    vectors = operands(form, np.random.default_rng(4), 600)
    dut = ToInteger(ToIntegerConfig(form=form, integer=integer, latency=0))
    expected = conversions.to_integer(**vectors, form=form, integer=integer)
    check(vectors, run(dut, vectors), expected)
    assert (expected[1] == INEXACT).any()


@pytest.mark.parametrize("latency", LATENCIES)
def test_latency(latency):
    one = np.array([0, 0, 1, 0, 0])
    vectors = {"i": one, "is_signed": one, "rounding": 0 * one}
    dut = FromInteger(FromIntegerConfig(latency=latency))
    assert run(dut, vectors)[0].tolist() == [0, 0, 0x3F800000, 0, 0]
    vectors["i"] = 0x3F800000 * one
    dut = ToInteger(ToIntegerConfig(latency=latency))
    assert run(dut, vectors)[0].tolist() == [0, 0, 1, 0, 0]


RANGES = [
    (2.5, 1, NEAREST, 2, INEXACT),
    (2.5, 1, AWAY, 3, INEXACT),
    (-2.5, 1, AWAY, -3, INEXACT),
    (-2.5, 1, UP, -2, INEXACT),
    (-2.5, 1, DOWN, -3, INEXACT),
    (-0.5, 0, NEAREST, 0, INEXACT),
    (-0.5, 0, DOWN, 0, INVALID),
    (-1.0, 0, ZERO, 0, INVALID),
    (-0.0, 0, DOWN, 0, 0),
    (1e-45, 1, UP, 1, INEXACT),
    (2.0**31 - 128, 1, UP, 2**31 - 128, 0),
    (2.0**31, 1, ZERO, 2**31 - 1, INVALID),
    (-(2.0**31), 1, ZERO, -(2**31), 0),
    (-(2.0**31) - 256, 1, UP, -(2**31), INVALID),
    (2.0**31, 0, ZERO, 2**31, 0),
    (2.0**32, 0, ZERO, 2**32 - 1, INVALID),
    (np.inf, 1, ZERO, 2**31 - 1, INVALID),
    (-np.inf, 1, ZERO, -(2**31), INVALID),
    (-np.inf, 0, ZERO, 0, INVALID),
    (np.nan, 1, ZERO, 2**31 - 1, INVALID),
    (-np.nan, 0, ZERO, 2**32 - 1, INVALID),
]


def test_ends_of_the_ranges():
    values, is_signed, rounding, results, flags = map(np.array, zip(*RANGES, strict=True))
    i = values.astype(np.float32).view(np.uint32)
    vectors = {"i": i, "is_signed": is_signed, "rounding": rounding}
    expected = (results.astype(np.int64) & 0xFFFF_FFFF, flags)
    check(vectors, conversions.to_integer(**vectors), expected)
    check(vectors, run(ToInteger(ToIntegerConfig()), vectors), expected)


def test_range_is_judged_after_rounding():
    """7.5 is 7, the largest INT4, or 8 and out of range."""
    vectors = {"i": np.full(5, 0x4F, np.uint32), "is_signed": np.ones(5, int), "rounding": MODES}
    assert floats.decode(vectors["i"], FP8_E4M3).tolist() == [7.5] * 5
    dut = ToInteger(ToIntegerConfig(form=FP8_E4M3, integer=INT4, latency=0))
    o, flags = run(dut, vectors)
    assert o.tolist() == [7] * 5
    assert flags.tolist() == [INVALID, INEXACT, INEXACT, INVALID, INVALID]


def test_from_integer_agrees_with_qemu():
    pytest.importorskip("unicorn")
    random = from_integer_operands(np.random.default_rng(5), 200_000)
    ends = np.array([0, 1, 1 << 24, (1 << 24) + 1, (1 << 25) - 1, 1 << 31, (1 << 31) - 1])
    ends = np.unique(np.concatenate([ends, -ends, ends + 1, (1 << 32) - 128 + np.arange(-2, 3)]))
    every = crossed((ends & 0xFFFF_FFFF).astype(np.uint32), np.arange(2), MODES)
    vectors = {
        name: np.concatenate([random[name], column]).astype(np.uint32)
        for name, column in zip(random, every, strict=True)
    }
    expected = conversions.from_integer(**vectors)
    check(vectors, integer_reference(FROM_INTEGER, **vectors).values(), expected)
    assert (expected[1] == INEXACT).mean() > 0.2


def test_to_integer_agrees_with_qemu():
    pytest.importorskip("unicorn")
    random = to_integer_operands(np.random.default_rng(6), 200_000)
    values = np.concatenate([np.arange(-9, 10) / 4, 2.0 ** np.arange(20, 34)])
    near = floats.encode(np.concatenate([values, -values]), FP32)[:, None] + np.arange(-1, 2)
    every = crossed(
        np.unique(np.concatenate([near.ravel() & 0xFFFF_FFFF, floats.corners(FP32)])),
        np.arange(2),
        MODES,
    )
    vectors = {
        name: np.concatenate([random[name], column]).astype(np.uint32)
        for name, column in zip(random, every, strict=True)
    }
    expected = conversions.to_integer(**vectors)
    check(vectors, integer_reference(TO_INTEGER, **vectors).values(), expected)
    for flag in (0, INEXACT, INVALID):
        assert (expected[1] == flag).mean() > 0.05


@pytest.mark.parametrize(
    ("make", "cells", "depth"),
    [
        (lambda: FromInteger(FromIntegerConfig(latency=0)), 47, 50),
        (lambda: FromInteger(FromIntegerConfig()), 53, 30),
        (lambda: ToInteger(ToIntegerConfig(latency=0)), 41, 47),
        (lambda: ToInteger(ToIntegerConfig()), 47, 23),
    ],
)
def test_cells_and_depth(make, cells, depth):
    measured = measure(make(), "unit")
    assert measured.cells <= cells
    assert measured.depth <= depth


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FromIntegerConfig(latency=2), "latency must be between 0 and 1, not 2"),
        (lambda: ToIntegerConfig(latency=-1), "latency must be between 0 and 1, not -1"),
        (lambda: FromIntegerConfig(form=E8M0), "form must have a sign and a zero, not e8m0"),
        (lambda: ToIntegerConfig(form=UE4M3), "form must have a sign and a zero, not ue4m3"),
        (
            lambda: ToIntegerConfig(form=FP16, integer=INT8),
            "integer must have at least the 11 bits of a significand of fp16, not 8",
        ),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
