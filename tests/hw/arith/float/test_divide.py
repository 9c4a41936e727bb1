"""Tests of the datapath for division and square root, all cycles unrolled, against golden models.

`tests/hw/core/units/divide` tests the unit that steps it, with FP32.
"""

import dataclasses

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bench.units.bench import UnitBench
from bench.units.check import Comparison
from bench.units.operands import floats as operands
from bench.units.operands.division import divide_operands, square_root_operands
from bench.units.per_operation import per_operation
from bench.units.unit import Unit
from spica.hw.arith.float.divide.config import DivideSqrtConfig, DivideSqrtOperation
from spica.hw.arith.float.divide.digit_recurrence import next_state
from spica.hw.arith.float.divide.finish import finished
from spica.hw.arith.float.divide.setup import first_state
from spica.hw.arith.float.rounding import FLAGS, FLAGS_LAYOUT, Rounding
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
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.float.division import divide, square_root
from support.vectors import evaluate

DIGITS = (1, 2, 3, 4)
E4M3 = FloatFormat(name="ieee_e4m3", exponent_width=4, significand_width=4)
E3M4 = FloatFormat(name="ieee_e3m4", exponent_width=3, significand_width=5)
DIVIDE, SQUARE_ROOT = DivideSqrtOperation.DIVIDE.value, DivideSqrtOperation.SQUARE_ROOT.value


class Unrolled(wiring.Component):
    """Setup, every cycle of the recurrence, and the final stage, combinational."""

    def __init__(self, config: DivideSqrtConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "operation": In(DivideSqrtOperation),
            "rounding": In(Rounding),
            "a": In(width),
            "b": In(width),
            "o": Out(width),
            "flags": Out(FLAGS_LAYOUT),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        operation, state = Signal(config.operation_layout), Signal(config.recurrence.state_layout)
        start, remainder, operand = first_state(m, config, operation)
        m.d.comb += [
            *(operation[name].eq(getattr(self, name)) for name, _ in config.operation_layout),
            state.remainder.eq(remainder),
            state.operand.eq(operand),
            state.result.eq(1),
        ]
        for cycle in range(config.recurrence.cycles):
            m.submodules[f"cycle_{cycle}"] = step = Module()
            state = next_state(step, config.recurrence, start.is_root, state)
        o = finished(m, config, start, state.result, state.remainder.any())
        m.d.comb += [self.o.eq(o.result), self.flags.eq(o.flags)]
        return m


def vectors_of(form, count, seed):
    """Return random divisions and square roots, mixed."""
    rng = np.random.default_rng(seed)
    quotients = divide_operands(rng, count, form)
    roots = square_root_operands(rng, count, form)
    is_root = rng.random(count) < 0.5
    chosen = {name: np.where(is_root, roots[name], quotients[name]) for name in roots}
    return {"operation": is_root.astype(np.uint32), **chosen, "b": quotients["b"]}


def every_pair(form, codes):
    """Return all pairs of `codes` in both operations and all modes."""
    kinds = np.array([DIVIDE, SQUARE_ROOT], np.uint32)
    modes = np.arange(len(Rounding), dtype=np.uint32)
    names = ("operation", "rounding", "a", "b")
    return dict(zip(names, operands.crossed(kinds, modes, codes, codes), strict=True))


def golden(form, operation, rounding, a, b):
    """Return the outputs of the golden models."""

    def model(one, a, b, rounding):
        if one == DIVIDE:
            return divide(a, b, rounding, form)
        return square_root(a, rounding, form)

    return per_operation(model, operation, a, b, rounding)


def check(unit, inputs, got):
    comparison = Comparison(unit, inputs, got, unit.golden(**inputs))
    assert not comparison.mismatches, str(comparison)


def unit_of(form, digits):
    """Return the description of the unrolled datapath."""
    config = DivideSqrtConfig(form=form, digits=digits)
    return Unit(
        name=f"divide_{form.name}_{digits}",
        group="",
        component=lambda: Unrolled(config),
        latency=0,
        operands=lambda rng, count: {},
        golden=lambda **inputs: golden(form, **inputs),
        oracle="",
    )


def check_in_simulation(form, digits, vectors):
    unit = unit_of(form, digits)
    check(unit, vectors, evaluate(unit.component(), vectors, ("o", "flags")))


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize(
    ("form", "count"),
    [(FP32, 50), (FP16, 100), (BF16, 100), (FP8_E5M2, 100), (E4M3, 100)],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.quick(2)
def test_random_operands(form, count, digits):
    check_in_simulation(form, digits, vectors_of(form, count, digits))


@pytest.mark.full
def test_every_class_by_every_class():
    form = FP16
    magnitudes = [0, 1, form.fraction_mask, form.bias << form.fraction_width, form.largest]
    magnitudes += [form.infinity, form.infinity + 1, form.nan, form.nan + 1]
    stored = [*magnitudes, *(m | 1 << form.magnitude_width for m in magnitudes)]
    vectors = every_pair(form, np.array(stored, np.uint32))
    some = np.random.default_rng(0).permutation(len(vectors["a"]))[:1000]
    check_in_simulation(form, 4, {name: values[some] for name, values in vectors.items()})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"digits": 0}, ValueError, "digits must be between 1 and 4, not 0"),
        ({"digits": 5}, ValueError, "digits must be between 1 and 4, not 5"),
        ({"digits": "4"}, TypeError, "digits must be an integer, not '4'"),
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
def test_operands_are_near_to_numbers_and_middles(form):
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


@pytest.mark.slow
def test_every_operand_of_small_formats():
    forms = (FP8_E5M2, E4M3, E3M4)
    units = {(form, digits): unit_of(form, digits) for form in forms for digits in DIGITS}
    with UnitBench(units.values()) as bench:
        for (form, _), unit in units.items():
            inputs = every_pair(form, np.arange(1 << form.width, dtype=np.uint32))
            check(unit, inputs, bench.run(unit.name, inputs))


@pytest.mark.slow
def test_crossed_corners_and_random_operands_at_length():
    units = {form: unit_of(form, 4) for form in (FP32, FP16, BF16)}
    with UnitBench(units.values()) as bench:
        for form, unit in units.items():
            for inputs in (every_pair(form, floats.corners(form)), vectors_of(form, 2_000_000, 11)):
                check(unit, inputs, bench.run(unit.name, inputs))
