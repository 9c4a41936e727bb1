"""Tests of multiply-add and unpacking of every operand format: golden models and an oracle."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth import *

from bench.units import narrow_fma as narrow
from bench.units.check import Comparison
from bench.units.operands import floats as operands
from spica.hw.arith.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig, operand_layout
from spica.hw.config.formats import FORMATS, FP16, FP32, INT8, FloatFormat
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float import floats
from spica.synth.measure import measure
from support.slow_cases import fast_only
from support.vectors import evaluate

UNITS = {unit.name.removeprefix("multiply_add_"): unit for unit in narrow.units()}
FLOATS = [name for name in UNITS if isinstance(FORMATS[name], FloatFormat)]
#: One format per kind of sum: integers, exact products, any products, products of halves.
KINDS = ("int8", "fp8_e4m3", "bf16", "fp32")


def config_of(name, **options):
    accumulator = "fp32" if name in FLOATS else "int32"
    return MultiplyAddConfig(operand=name, accumulator=accumulator, **options)


def run(config, inputs):
    """Return the multiply-add's output for one vector per cycle."""
    dut = narrow.StoredMultiplyAdd(config)
    return evaluate(dut, {name: inputs[name] for name in "abc"}, latency=dut.latency)["o"]


def check(unit, inputs, got, expected):
    comparison = Comparison(unit, inputs, got, expected)
    assert not comparison.mismatches, str(comparison)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.quick(4)
def test_every_format_matches_golden_model(name):
    unit = UNITS[name]
    inputs = unit.operands(np.random.default_rng(1), 200)
    config = config_of(name, latency=config_of(name).least_latency)
    check(unit, inputs, {"o": run(config, inputs)}, unit.golden(**inputs))


@pytest.mark.parametrize("latency", range(1, 7))
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.quick(3)
def test_every_latency(name, latency):
    unit = UNITS[name]
    inputs = unit.operands(np.random.default_rng(latency), 80)
    got = run(config_of(name, latency=latency), inputs)
    check(unit, inputs, {"o": got}, unit.golden(**inputs))


@pytest.mark.parametrize("name", FLOATS)
def test_golden_model_agrees_with_qemu(name):
    pytest.importorskip("unicorn")
    form, unit = FORMATS[name], UNITS[name]
    corners = operands.crossed(*[floats.corners(form)] * 2, floats.corners(FP32))
    inputs = dict(zip("abc", corners, strict=True))
    check(unit, inputs, unit.golden(**inputs), unit.reference(**inputs))
    inputs = unit.operands(np.random.default_rng(2), 25_000)
    check(unit, inputs, unit.golden(**inputs), unit.reference(**inputs))


@pytest.mark.parametrize("name", ["int4", "int8"])
def test_integers_wrap(name):
    unit = UNITS[name]
    inputs = unit.operands(np.random.default_rng(3), 2000)
    check(unit, inputs, unit.golden(**inputs), unit.reference(**inputs))


@pytest.mark.parametrize("name", FLOATS)
def test_exhaustive_is_every_pair(name):
    form, unit = FORMATS[name], UNITS[name]
    if form.width > 8:
        assert unit.exhaustive is None
        return
    inputs = unit.exhaustive()
    assert len(np.unique(inputs["a"] << 8 | inputs["b"])) == 1 << 2 * form.width
    check(unit, inputs, unit.golden(**inputs), unit.reference(**inputs))


@pytest.mark.parametrize("name", FLOATS)
def test_unpack(name):
    """Every code of a narrow format; corners and random codes of a wide one."""
    form = FORMATS[name]
    if form.width <= 8:
        stored = np.arange(1 << form.width)
    else:
        random = operands.random_bits(np.random.default_rng(0), form, 1000)
        stored = np.concatenate([random, floats.corners(form)])
    config = UnpackConfig(form=form)
    dut = require_no_loop(Unpack(config))
    fields = []

    async def testbench(ctx):
        for code in stored.tolist():
            ctx.set(dut.i, code)
            o = ctx.get(dut.o)
            fields.append((o.significand, o.exponent, o.sign))

    simulate(dut, testbench, domains=())
    significand, exponent, sign = np.array(fields).T
    values = floats.decode(stored, form)
    is_special = ~np.isfinite(values)
    is_number = ~is_special & (values != 0)

    assert np.array_equal(sign, stored >> form.magnitude_width)
    assert np.array_equal(significand == 0, np.isnan(values) | (values == 0))
    all_ones = (1 << config.exponent_width) - 1
    assert np.array_equal(exponent == all_ones, is_special)
    assert np.all(2 * exponent[~is_special].max() + 1 <= all_ones)
    assert np.all(significand[is_number] >> form.fraction_width == 1)
    scaled = np.ldexp(significand.astype(float), exponent - config.offset - form.fraction_width)
    assert np.array_equal(scaled[is_number], np.abs(values[is_number]))


def test_operand_layouts():
    assert operand_layout(INT8) == signed(8)
    widths = {name: field.width for name, field in operand_layout(FP16)}
    assert widths == {"significand": 11, "exponent": 8, "sign": 1}
    offsets = {name: UnpackConfig(form=FORMATS[name]).offset for name in FLOATS}
    assert offsets["fp16"] == offsets["fp8_e5m2"] == 63
    assert offsets["fp32"] == offsets["bf16"] == 255
    assert offsets["fp4_e2m1"] == 1


def test_products_that_fit_take_the_cheap_adder():
    exact = {name for name in UNITS if config_of(name).is_exact}
    assert exact == set(UNITS) - {"fp32", "bf16", "tf32", "e8m0"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latency": 0}, "latency must be between 1 and 6, not 0"),
        ({"latency": 7}, "latency must be between 1 and 6, not 7"),
        ({"operand": "fp17"}, "operand must be one of fp32, fp16, .*fp17"),
        ({"accumulator": "x"}, "accumulator must be one of .*, not 'x'"),
        (
            {"operand": "int8"},
            "operand and accumulator must be both integers or both floats, not int8 and fp32",
        ),
        (
            {"accumulator": "fp8_e4m3"},
            "accumulator must have signs, infinities and subnormals, unlike fp8_e4m3",
        ),
        (
            {"operand": "bf16", "accumulator": "fp16"},
            "accumulator must have at least the range of bf16, with a largest exponent of 127, "
            "not 15",
        ),
    ],
)
def test_bad_config_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MultiplyAddConfig(**options)


def measured_at_least_latency(name):
    config = config_of(name)
    return measure(MultiplyAdd(replace(config, latency=config.least_latency)), name)


@pytest.mark.parametrize("name", fast_only(["fp8_e4m3", "bf16", "fp32"], UNITS))
@pytest.mark.full
def test_depth_at_least_latency(name):
    assert measured_at_least_latency(name).depth <= 60


@pytest.mark.full
def test_narrow_products_are_cheap():
    fp16, e5m2, e4m3, fp4 = (
        measured_at_least_latency(name) for name in ("fp16", "fp8_e5m2", "fp8_e4m3", "fp4_e2m1")
    )
    assert e5m2.cells <= fp16.cells <= 74
    assert fp4.cells < e4m3.cells < fp16.cells
    assert max(e5m2.nand2, e4m3.nand2) < 0.8 * fp16.nand2
    assert fp4.nand2 < e4m3.nand2
