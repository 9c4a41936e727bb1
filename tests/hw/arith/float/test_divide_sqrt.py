"""Tests of division and square root: golden model against oracles, unit against golden model."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
from amaranth import *

from spica.hw.arith.float.divide.divide_sqrt import (
    DivideSqrt,
    DivideSqrtConfig,
    DivideSqrtOperation,
)
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP6_E3M2,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    FloatFormat,
)
from spica.hw.emit.emitter import emit
from spica.sim.engine.testbench import get, put, require_no_loop, simulate
from spica.sim.golden.arith.float import floats, operands
from spica.sim.golden.arith.float.division import divide, square_root
from spica.sim.units.arith import division
from spica.sim.units.arith.bench import UnitBench
from spica.sim.units.arith.check import Comparison
from spica.sim.units.arith.division_operands import divide_operands, square_root_operands
from spica.synth.measure import measure

DEPTH = 60
DIGITS = (1, 2, 3, 4)
E4M3 = FloatFormat(name="ieee_e4m3", exponent_width=4, significand_width=4)
E3M4 = FloatFormat(name="ieee_e3m4", exponent_width=3, significand_width=5)
UNITS = {unit.name: unit for unit in division.units()}
FORMS = {name: {"fp16": FP16, "bf16": BF16}.get(name.split("_")[-1], FP32) for name in UNITS}
TAG_WIDTH = 8


def operations_of(form, count, seed):
    """Return (operation, rounding, a, b) of random divisions and square roots, mixed."""
    rng = np.random.default_rng(seed)
    quotients = divide_operands(rng, count, form)
    roots = square_root_operands(rng, count, form)
    is_root = rng.random(count) < 0.5
    rows = zip(
        is_root,
        np.where(is_root, roots["rounding"], quotients["rounding"]),
        np.where(is_root, roots["a"], quotients["a"]),
        quotients["b"],
        strict=True,
    )
    return [
        (DivideSqrtOperation.SQUARE_ROOT if root else DivideSqrtOperation.DIVIDE, *map(int, rest))
        for root, *rest in rows
    ]


def expected_of(form, operations):
    """Return (result, flags) of each operation."""
    kinds, rounding, a, b = map(np.array, zip(*operations, strict=True))
    quotients = divide(a.astype(np.uint32), b.astype(np.uint32), rounding, form)
    roots = square_root(a.astype(np.uint32), rounding, form)
    is_root = np.array([kind == DivideSqrtOperation.SQUARE_ROOT for kind in kinds])
    results = [np.where(is_root, *pair) for pair in zip(roots, quotients, strict=True)]
    return list(zip(*(values.tolist() for values in results), strict=True))


def payload_of(operation, tag=None):
    kind, rounding, a, b = operation
    payload = {"operation": kind, "rounding": Rounding(rounding), "a": a, "b": b}
    return payload if tag is None else {**payload, "tag": tag}


def result_of(payload):
    flags = sum(bit * payload.flags[name] for name, bit in FLAGS.items())
    return payload.result, flags


def make(**options):
    dut = DivideSqrt(DivideSqrtConfig(**options))
    require_no_loop(dut)
    return dut


def start(ctx, dut, operation):
    ctx.set(dut.i.payload, payload_of(operation))
    ctx.set(dut.i.valid, 1)


def check_stream(dut, operations):
    """Send operations through a unit without pauses, and compare the results."""

    async def feed(ctx):
        await put(ctx, dut.i, map(payload_of, operations), rng=random.Random(1))

    async def check(ctx):
        payloads = await get(ctx, dut.o, len(operations), rng=random.Random(2))
        assert list(map(result_of, payloads)) == expected_of(dut.config.form, operations)

    simulate(dut, feed, check)


@pytest.mark.parametrize("stall", [(0.0, 0.0), (0.7, 0.0), (0.0, 0.9), (0.5, 0.5)])
@pytest.mark.parametrize("digits", DIGITS)
def test_results_keep_order_and_tags(digits, stall):
    dut = make(digits=digits, tag_width=TAG_WIDTH)
    operations = operations_of(FP32, 24, digits)
    tags = [random.Random(n).randrange(1 << TAG_WIDTH) for n in range(len(operations))]
    expected = [
        (*result, tag) for result, tag in zip(expected_of(FP32, operations), tags, strict=True)
    ]

    async def feed(ctx):
        payloads = map(payload_of, operations, tags)
        await put(ctx, dut.i, payloads, rng=random.Random(1), stall=stall[0])

    async def check(ctx):
        payloads = await get(ctx, dut.o, len(operations), rng=random.Random(2), stall=stall[1])
        assert [(*result_of(payload), payload.tag) for payload in payloads] == expected

    simulate(dut, feed, check)


@pytest.mark.parametrize("form", [FP16, BF16, FP8_E5M2, E4M3], ids=lambda form: form.name)
@pytest.mark.parametrize("digits", DIGITS)
def test_other_formats(form, digits):
    check_stream(make(form=form, digits=digits), operations_of(form, 60, digits))


def test_every_class_by_every_class():
    form = FP16
    magnitudes = [0, 1, form.fraction_mask, form.bias << form.fraction_width, form.largest]
    magnitudes += [form.infinity, form.infinity + 1, form.nan, form.nan + 1]
    stored = [*magnitudes, *(m | 1 << form.magnitude_width for m in magnitudes)]
    modes = itertools.cycle(Rounding)
    operations = [(DivideSqrtOperation.DIVIDE, next(modes), a, b) for a in stored for b in stored]
    operations += [
        (DivideSqrtOperation.SQUARE_ROOT, next(modes), a, b)
        for a in stored
        for b in (0, form.infinity + 1)
    ]
    check_stream(make(form=form), operations)


ONE, TWO, INFINITY, NAN, SIGNALLING = 0x3F800000, 0x40000000, 0x7F800000, 0x7FC00000, 0x7F800001
#: One operation of each kind: numbers, subnormal operands and results, overflow, all specials.
KINDS = {
    "quotient": (DivideSqrtOperation.DIVIDE, 0, TWO, 0x40400000),
    "root": (DivideSqrtOperation.SQUARE_ROOT, 0, TWO, 0),
    "exact": (DivideSqrtOperation.DIVIDE, 0, TWO, ONE),
    "subnormal operands": (DivideSqrtOperation.DIVIDE, 0, 3, 1),
    "subnormal radicand": (DivideSqrtOperation.SQUARE_ROOT, 0, 3, 0),
    "subnormal quotient": (DivideSqrtOperation.DIVIDE, 0, 0x00800001, TWO),
    "overflow": (DivideSqrtOperation.DIVIDE, 0, 0x7F7FFFFF, 1),
    "division by zero": (DivideSqrtOperation.DIVIDE, 0, ONE, 0),
    "invalid quotient": (DivideSqrtOperation.DIVIDE, 0, 0, 0),
    "invalid root": (DivideSqrtOperation.SQUARE_ROOT, 0, 0x80000001, 0),
    "zero": (DivideSqrtOperation.DIVIDE, 0, 0, ONE),
    "infinity": (DivideSqrtOperation.SQUARE_ROOT, 0, INFINITY, 0),
    "quiet NaN": (DivideSqrtOperation.DIVIDE, 0, NAN, ONE),
    "signalling NaN": (DivideSqrtOperation.DIVIDE, 0, ONE, SIGNALLING),
}


@pytest.mark.parametrize(
    ("form", "digits", "interval"),
    [(FP32, 4, 7), (FP32, 3, 9), (FP32, 2, 13), (FP32, 1, 25), (FP16, 4, 4), (BF16, 4, 3)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_latency_and_interval(form, digits, interval):
    """Every kind of operation has the same latency, and operations follow back to back."""
    dut = make(form=form, digits=digits)
    assert (dut.config.interval, dut.config.latency) == (interval, interval + 1)
    operations = list(KINDS.values()) if form == FP32 else operations_of(form, 14, 0)
    accepted, delivered = [], []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        waiting = list(operations)
        for cycle in range((len(operations) + 2) * interval):
            if waiting:
                start(ctx, dut, waiting[0])
            ctx.set(dut.i.valid, bool(waiting))
            if waiting and ctx.get(dut.i.ready):
                waiting.pop(0)
                accepted.append(cycle)
            if ctx.get(dut.o.valid):
                assert result_of(ctx.get(dut.o.payload)) == expected[len(delivered)]
                delivered.append(cycle)
            await ctx.tick()

    expected = expected_of(form, operations)
    simulate(dut, bench)
    assert accepted == [n * interval for n in range(len(operations))]
    assert delivered == [cycle + interval + 1 for cycle in accepted]


def test_a_waiting_result_stops_only_the_next_but_one():
    dut = make()
    interval = dut.config.interval
    operations = [KINDS[name] for name in ("quotient", "root", "overflow")]
    expected = expected_of(FP32, operations)

    async def bench(ctx):
        start(ctx, dut, operations[0])
        await ctx.tick().until(dut.i.ready)
        start(ctx, dut, operations[1])
        for _ in range(interval - 1):
            assert not ctx.get(dut.i.ready)
            await ctx.tick()
        # Accepted while the first is rounded and not taken.
        assert ctx.get(dut.i.ready)
        await ctx.tick()
        start(ctx, dut, operations[2])
        for _ in range(4 * interval):
            assert not ctx.get(dut.i.ready)
            assert ctx.get(dut.o.valid)
            assert result_of(ctx.get(dut.o.payload)) == expected[0]
            await ctx.tick()
        ctx.set(dut.o.ready, 1)
        assert ctx.get(dut.i.ready)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        # The second was ready for rounding at once.
        assert ctx.get(dut.o.valid)
        assert result_of(ctx.get(dut.o.payload)) == expected[1]
        for cycle in range(interval):
            await ctx.tick()
            assert ctx.get(dut.o.valid) == (cycle == interval - 1)
        assert result_of(ctx.get(dut.o.payload)) == expected[2]

    simulate(dut, bench)


def test_reset_forgets_an_operation():
    """In each of its cycles: during digits, before rounding, while the result waits."""
    dut = make()
    latency = dut.config.latency
    reset = Signal()
    forgotten, operation = KINDS["quotient"], KINDS["root"]

    async def bench(ctx):
        for elapsed in range(latency + 2):
            start(ctx, dut, forgotten)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
            for _ in range(elapsed):
                await ctx.tick()
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            assert not ctx.get(dut.o.valid)
            assert ctx.get(dut.i.ready)
            start(ctx, dut, operation)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
            for _ in range(latency - 1):
                assert not ctx.get(dut.o.valid)
                await ctx.tick()
            assert [result_of(ctx.get(dut.o.payload))] == expected_of(FP32, [operation])
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert not ctx.get(dut.o.valid)

    simulate(ResetInserter(reset)(dut), bench)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"digits": 0}, ValueError, "digits must be between 1 and 4, not 0"),
        ({"digits": 5}, ValueError, "digits must be between 1 and 4, not 5"),
        ({"digits": "4"}, TypeError, "digits must be an integer, not '4'"),
        ({"tag_width": -1}, ValueError, "tag_width must be between 0 and 64, not -1"),
        ({"form": FP8_E4M3}, ValueError, "form must have a sign, infinities .*, not fp8_e4m3"),
        ({"form": FP6_E3M2}, ValueError, "form must have a sign, infinities .*, not fp6_e3m2"),
        ({"form": E8M0}, ValueError, "form must have a sign, infinities .*, not e8m0"),
        (
            {"form": dataclasses.replace(FP32, significand_width=53)},
            ValueError,
            "significand_width must be between 3 and 24, not 53",
        ),
        (
            {"form": dataclasses.replace(FP32, exponent_width=11)},
            ValueError,
            "exponent_width must be between 3 and 8, not 11",
        ),
    ],
)
def test_bad_config_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        DivideSqrtConfig(**options)


def test_golden_model_refuses_what_float64_does_not_hold():
    with pytest.raises(ValueError, match="form must have at most 24 significand bits, not 25"):
        divide([0], [0], form=dataclasses.replace(FP32, significand_width=25))


def test_payloads():
    with_tag = DivideSqrtConfig(tag_width=3)
    assert list(dict(with_tag.operation_layout)) == ["operation", "rounding", "a", "b", "tag"]
    assert list(dict(with_tag.result_layout)) == ["result", "flags", "tag"]
    without = DivideSqrtConfig()
    assert without.operation_layout.size == with_tag.operation_layout.size - 3 == 1 + 3 + 2 * 32
    assert without.result_layout.size == with_tag.result_layout.size - 3 == 32 + 5
    emission = emit(DivideSqrt(with_tag), "divide_sqrt")
    ports = {port.name: port.width for port in emission.ports}
    assert (ports["i_payload"], ports["o_payload"]) == (71, 40)


@pytest.mark.parametrize(
    ("form", "digits", "cells", "nand2"),
    [
        (FP32, 4, 255, 6200),
        (FP32, 3, 220, 5700),
        (FP32, 2, 203, 5200),
        (FP32, 1, 192, 4600),
        (FP16, 4, 226, 3300),
        (BF16, 4, 211, 2700),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_depth_and_cells(form, digits, cells, nand2):
    measurement = measure(DivideSqrt(DivideSqrtConfig(form=form, digits=digits)), "divide_sqrt")
    assert measurement.depth <= DEPTH
    assert measurement.cells <= cells
    assert measurement.nand2 <= nand2


def check(unit, inputs, got, expected):
    comparison = Comparison(unit, inputs, got, expected)
    assert not comparison.mismatches, str(comparison)


def crossed_corners(form, count):
    """Return all pairs of corners of `form` in all modes."""
    modes = np.arange(len(Rounding), dtype=np.uint32)
    rounding, *values = operands.crossed(modes, *[floats.corners(form)] * count)
    return {"rounding": rounding, **dict(zip("ab", values, strict=False))}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_golden_model_agrees_with_the_oracle(unit):
    pytest.importorskip("unicorn")
    pytest.importorskip("gfloat")
    stimuli = [
        crossed_corners(FORMS[unit.name], 1 if unit.name.startswith("square_root") else 2),
        unit.operands(np.random.default_rng(3), 30_000),
    ]
    for inputs in stimuli:
        check(unit, inputs, unit.golden(**inputs), unit.reference(**inputs))


def every_pair(form):
    codes = np.arange(1 << form.width, dtype=np.uint32)
    rounding, a, b = operands.crossed(np.arange(len(Rounding), dtype=np.uint32), codes, codes)
    return {"rounding": rounding, "a": a, "b": b}


def test_golden_quotients_of_every_pair_agree_with_the_oracle():
    pytest.importorskip("unicorn")
    pytest.importorskip("gfloat")
    inputs = every_pair(FP8_E5M2)
    expected = division.reference("fdiv.s", FP8_E5M2, **inputs)
    check(UNITS["divide"], inputs, division.golden_divide(FP8_E5M2, **inputs), expected)


def test_operands_reach_every_exception_and_every_kind_of_result():
    rng = np.random.default_rng(0)
    for form in (FP32, FP16, BF16):
        inputs = divide_operands(rng, 20_000, form)
        o, flags = divide(inputs["a"], inputs["b"], inputs["rounding"], form)
        for flag in FLAGS.values():
            assert np.count_nonzero(flags & flag) >= 50
        magnitude = o & form.magnitude_mask
        is_subnormal = (magnitude > 0) & (magnitude <= form.fraction_mask)
        is_exact = flags & FLAGS["inexact"] == 0
        for kind in (magnitude == 0, is_subnormal & is_exact, is_subnormal & ~is_exact):
            assert np.count_nonzero(kind) >= 50
        # Exact midpoints: both roundings to nearest differ.
        even, away = (
            divide(inputs["a"], inputs["b"], mode, form)[0]
            for mode in (Rounding.NEAREST_EVEN, Rounding.NEAREST_AWAY)
        )
        assert np.count_nonzero(even != away) >= 50


@pytest.mark.parametrize("form", [FP32, FP16, BF16], ids=lambda form: form.name)
def test_operands_come_near_to_numbers_and_middles(form):
    """Many exact results are within 1/64 ulp of a number with one more bit."""
    rng = np.random.default_rng(1)
    inputs = divide_operands(rng, 20_000, form)
    a, b = (np.abs(floats.decode(inputs[name], form)) for name in "ab")
    radicand = np.abs(floats.decode(square_root_operands(rng, 20_000, form)["a"], form))
    with np.errstate(divide="ignore", invalid="ignore"):
        results = {"quotient": a / b, "root": np.sqrt(radicand)}
    for exact in results.values():
        exact = exact[np.isfinite(exact) & (exact > 0)]
        halves = np.ldexp(np.frexp(exact)[0], form.significand_width + 1)
        distance = np.abs(halves - np.round(halves))
        assert np.count_nonzero((distance > 0) & (distance < 1 / 32)) >= 2000


SMALL_UNITS = {
    unit.name: (unit, form)
    for form in (FP8_E5M2, E4M3, E3M4)
    for digits in DIGITS
    for unit in division.units_of(
        DivideSqrtConfig(form=form, digits=digits), "Narrow", f"_{form.name}_{digits}"
    )
}


@pytest.mark.slow
def test_every_operand_of_small_formats():
    with UnitBench([unit for unit, _ in SMALL_UNITS.values()]) as bench:
        for name, (unit, form) in SMALL_UNITS.items():
            inputs = unit.exhaustive() if name.startswith("square_root") else every_pair(form)
            check(unit, inputs, bench.run(name, inputs), unit.golden(**inputs))


@pytest.mark.slow
def test_crossed_corners_and_random_operands_at_length():
    with UnitBench(UNITS.values()) as bench:
        for name, unit in UNITS.items():
            stimuli = [
                crossed_corners(FORMS[name], 1 if name.startswith("square_root") else 2),
                unit.operands(np.random.default_rng(11), 2_000_000),
            ]
            if unit.exhaustive:
                stimuli.append(unit.exhaustive())
            for inputs in stimuli:
                check(unit, inputs, bench.run(name, inputs), unit.golden(**inputs))
