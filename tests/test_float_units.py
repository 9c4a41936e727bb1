"""Adder, multiplier, multiply-add and conversion against their golden models, on both engines."""

from dataclasses import dataclass

import numpy as np
import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.float.add import Add, AddConfig
from spica.hw.float.convert import Convert, ConvertConfig
from spica.hw.float.multiply import Multiply, MultiplyConfig
from spica.hw.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.float.unpack import Unpack, UnpackConfig
from spica.hw.formats import FORMATS, FP16, FP32, INT8, INT32
from spica.sim.bench import simulate
from spica.sim.block import BlockBench
from spica.sim.golden import floats, operands

LATENCIES = (1, 2, 3, 4)


class StoredMultiplyAdd(wiring.Component):
    """A multiply-add of stored operands."""

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        operand, accumulator = config.operand_format.width, config.accumulator_format.width
        super().__init__({
            "a": In(operand),
            "b": In(operand),
            "c": In(accumulator),
            "o": Out(accumulator),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiply_add = multiply_add = MultiplyAdd(self.config)
        for name in ("a", "b"):
            unpack = Unpack(UnpackConfig(form=self.config.operand_format))
            m.submodules[f"unpack_{name}"] = unpack
            m.d.comb += unpack.i.eq(getattr(self, name))
            m.d.comb += getattr(multiply_add, name).eq(unpack.o)
        m.d.comb += [multiply_add.c.eq(self.c), self.o.eq(multiply_add.o)]
        return m


@dataclass(frozen=True)
class Unit:
    """A unit under test: how it is built, fed and checked."""

    make: object
    ports: str
    operands: object
    golden: object


def multiply_add_unit(operand, accumulator):
    formats = {"operand": FORMATS[operand], "accumulator": FORMATS[accumulator]}
    return Unit(
        lambda latency: StoredMultiplyAdd(
            MultiplyAddConfig(operand=operand, accumulator=accumulator, latency=latency)
        ),
        "abc",
        lambda rng, count: operands.multiply_add_operands(rng, count, **formats),
        lambda a, b, c: floats.multiply_add(a, b, c, **formats),
    )


UNITS = {
    "multiply_add_fp16": multiply_add_unit("fp16", "fp32"),
    "multiply_add_int8": multiply_add_unit("int8", "int32"),
    "add": Unit(
        lambda latency: Add(AddConfig(latency=latency)), "ab", operands.add_operands, floats.add
    ),
    "multiply": Unit(
        lambda latency: Multiply(MultiplyConfig(latency=latency)),
        "ab",
        operands.multiply_operands,
        floats.multiply,
    ),
    "convert": Unit(
        lambda latency: Convert(ConvertConfig()), "i", operands.convert_operands, floats.convert
    ),
}
LATENCY = {"multiply_add_fp16": 2, "multiply_add_int8": 2, "add": 2, "multiply": 4, "convert": 0}
PIPELINES = [name for name in UNITS if name != "convert"]


def run(unit, dut, vectors, latency):
    """Return what `dut` gives for each vector, one per cycle, on Amaranth's simulator."""
    rtlil.convert(dut)
    ports = Cat(getattr(dut, name) for name in unit.ports)
    widths = [len(getattr(dut, name)) for name in unit.ports]
    results = []

    async def testbench(ctx):
        for vector in [*zip(*vectors, strict=True), *[(0,) * len(widths)] * latency]:
            packed = shift = 0
            for value, width in zip(vector, widths, strict=True):
                packed |= int(value) << shift
                shift += width
            ctx.set(ports, packed)
            if latency:
                _, _, result = await ctx.tick().sample(dut.o)
            else:
                result = ctx.get(dut.o)
            results.append(result)

    simulate(dut, testbench, domains=("sync",) if latency else ())
    return np.array(results[latency:], np.uint32)


def check(vectors, expected, results):
    """Fail with the first vectors that are wrong."""
    wrong = np.nonzero(results != expected)[0]
    shown = [
        f"{[hex(v[k]) for v in vectors]}: {results[k]:#x}, not {expected[k]:#x}" for k in wrong[:5]
    ]
    assert not shown, f"{len(wrong)} of {len(expected)} wrong: " + "; ".join(shown)


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline_matches_golden_model(name, latency):
    unit = UNITS[name]
    vectors = unit.operands(np.random.default_rng(latency), 300)
    check(vectors, unit.golden(*vectors), run(unit, unit.make(latency), vectors, latency))


def test_convert_matches_golden_model():
    unit = UNITS["convert"]
    vectors = unit.operands(np.random.default_rng(0), 2000)
    check(vectors, unit.golden(*vectors), run(unit, unit.make(0), vectors, 0))


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("name", PIPELINES)
def test_latency(name, latency):
    unit = UNITS[name]
    dut = unit.make(latency)
    # 1 + 0, 1 * 1 or 1 * 1 + 0, once, among zeros.
    form = {"add": FP32, "multiply": FP32, "multiply_add_fp16": FP16}.get(name)
    one = form.bias << form.fraction_width if form else 1
    vectors = [np.array([0, 0, one, 0, 0, 0, 0, 0], np.uint32) for _ in unit.ports[:2]]
    vectors += [np.zeros(8, np.uint32)] * (len(unit.ports) - 2)
    results = run(unit, dut, vectors, latency)
    assert np.nonzero(results)[0].tolist() == [2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiplyAddConfig(latency=0), "latency must be between 1 and 4, not 0"),
        (lambda: MultiplyAddConfig(latency=5), "latency must be between 1 and 4, not 5"),
        (lambda: MultiplyAddConfig(operand="fp17"), "operand must be one of fp16, fp32, .*fp17"),
        (lambda: MultiplyAddConfig(accumulator="x"), "accumulator must be one of .*, not 'x'"),
        (
            lambda: MultiplyAddConfig(operand="int8"),
            "operand and accumulator must be both integers or both floats, not int8 and fp32",
        ),
        (
            lambda: MultiplyAddConfig(operand="fp32"),
            "accumulator must hold a product exactly, 2 x 24 = 48 significand bits, not 24",
        ),
        (lambda: AddConfig(latency=5), "latency must be between 1 and 4, not 5"),
        (lambda: MultiplyConfig(latency=0), "latency must be between 1 and 4, not 0"),
        (
            lambda: ConvertConfig(source=FP16, target=FP16),
            "target must have less than the exponent_width of fp16, 5, not 5",
        ),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class AllUnits(wiring.Component):
    """Every unit side by side, so that one model serves them all."""

    def __init__(self):
        layout = UnpackConfig(form=FP16).layout
        super().__init__({
            "a": In(32),
            "b": In(32),
            "c": In(32),
            **{name: Out(32) for name in UNITS},
            "unpacked": Out(Shape.cast(layout).width),
        })

    def elaborate(self, platform):
        m = Module()
        for name, unit in UNITS.items():
            m.submodules[name] = dut = unit.make(LATENCY[name])
            for port, given in zip(unit.ports, (self.a, self.b, self.c), strict=False):
                m.d.comb += getattr(dut, port).eq(given)
            m.d.comb += getattr(self, name).eq(dut.o)
        m.submodules.unpack = unpack = Unpack(UnpackConfig(form=FP16))
        m.d.comb += [unpack.i.eq(self.a), self.unpacked.eq(unpack.o)]
        return m


@pytest.fixture(scope="module")
def bench():
    with BlockBench(AllUnits(), optimize=1) as bench:
        yield bench


def run_fast(bench, name, vectors):
    unit = UNITS[name]
    latency = LATENCY[name]
    inputs = dict(zip("abc", vectors, strict=False))
    inputs = {port: np.concatenate([v, np.zeros(latency, v.dtype)]) for port, v in inputs.items()}
    check(vectors, unit.golden(*vectors), bench.run(**inputs)[name][latency:])


@pytest.mark.parametrize("name", UNITS)
def test_unit_on_verilator(bench, name):
    run_fast(bench, name, UNITS[name].operands(np.random.default_rng(10), 300_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", UNITS)
def test_unit_on_verilator_at_length(bench, name, seed):
    run_fast(bench, name, UNITS[name].operands(np.random.default_rng(100 + seed), 2_000_000))


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("multiply_add_fp16", (FP16, FP16, FP32)),
        ("multiply_add_int8", (INT8, INT8, INT32)),
        ("add", (FP32, FP32)),
        ("multiply", (FP32, FP32)),
    ],
)
def test_every_pair_of_corners_on_verilator(bench, name, forms):
    run_fast(bench, name, operands.crossed(*map(floats.corners, forms)))


def test_every_fp16_is_unpacked(bench):
    stored = np.arange(1 << 16, dtype=np.uint32)
    config = UnpackConfig(form=FP16)
    unpacked = bench.run(a=stored)["unpacked"].astype(np.int64)
    significand = unpacked & 0x7FF
    exponent = unpacked >> 11 & ((1 << config.exponent_width) - 1)
    sign = unpacked >> (11 + config.exponent_width)
    values = floats.decode(stored, FP16)

    assert np.array_equal(sign, stored >> 15)
    is_special = ~np.isfinite(values)
    assert np.array_equal(exponent == (1 << config.exponent_width) - 1, is_special)
    assert np.array_equal(significand == 0, np.isnan(values) | (values == 0))
    is_number = ~is_special & (values != 0)
    assert np.all(significand[is_number] >> 10 == 1)
    scaled = np.ldexp(significand.astype(np.float64), exponent - config.offset - 10)
    assert np.array_equal(scaled[is_number], np.abs(values[is_number]))
    assert np.all(exponent[values == 0] == 0)
