"""Tests of `hw.matrix.systolic.processing_element` against the golden multiply-add."""

import random

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.arith.float.multiply_add import MultiplyAddConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig
from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.emit.emitter import emit
from spica.hw.matrix.systolic.processing_element import (
    OutputStationaryProcessingElement,
    WeightStationaryProcessingElement,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.arith.float.floats import corners, multiply_add
from spica.synth.budgets import DEPTH, ELEMENT_CELLS
from spica.synth.measure import measure


def usual(operand):
    """Return the default multiply-add of a matrix unit for `operand`."""
    arithmetic = ARITHMETIC[operand]
    return MultiplyAddConfig(
        operand=operand, accumulator=arithmetic.accumulator, latency=arithmetic.latency
    )


CONFIGS = [
    MultiplyAddConfig(operand="fp16", accumulator="fp32", latency=1),
    MultiplyAddConfig(operand="fp16", accumulator="fp32", latency=3),
    *(usual(operand) for operand in ("int8", "bf16", "fp8_e4m3", "fp8_e5m2", "fp32")),
]


class UnpackedElement(wiring.Component):
    """An element with stored operands as inputs."""

    def __init__(self, config):
        self.config = config
        operand, accumulator = config.operand_format.width, config.accumulator_format.width
        super().__init__({
            "a": In(operand),
            "load": In(1),
            "swap": In(1),
            "weight": In(operand),
            "c": In(accumulator),
            "o": Out(accumulator),
            "next_flags": Out(2),
        })

    def elaborate(self, platform):
        m = Module()
        unpack = UnpackConfig(form=self.config.operand_format)
        m.submodules.unpack_a = unpack_a = Unpack(unpack)
        m.submodules.unpack_b = unpack_b = Unpack(unpack)
        m.submodules.element = element = WeightStationaryProcessingElement(self.config)
        m.d.comb += [
            unpack_a.i.eq(self.a),
            unpack_b.i.eq(self.weight),
            element.word.payload.a.eq(unpack_a.o),
            element.word.payload.load.eq(self.load),
            element.word.payload.swap.eq(self.swap),
            element.weight.eq(unpack_b.o),
            element.c.eq(self.c),
            self.o.eq(element.o),
            self.next_flags.eq(Cat(element.next_word.payload.load, element.next_word.payload.swap)),
        ]
        return m


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.operand}-{c.latency}")
@pytest.mark.quick(1)
def test_flags_act_on_the_next_cycle(config):
    dut = require_no_loop(UnpackedElement(config))
    rng = random.Random(config.latency)
    operands = [int(x) for x in corners(config.operand_format)]

    def operand():
        return rng.choice([*operands, rng.getrandbits(config.operand_format.width)])

    async def testbench(ctx):
        shadow = active = 0
        expected, seen, flags = [], [], []
        for cycle in range(300):
            # The first two cycles give both registers a known weight.
            load, swap = (1, 1) if cycle < 2 else (rng.getrandbits(1), rng.getrandbits(1))
            a, weight = operand(), operand()
            c = rng.choice([0, 0x3F800000, 0xBF800000, 0x00800000])
            ctx.set(Cat(dut.a, dut.weight), a | weight << len(dut.a))
            ctx.set(Cat(dut.load, dut.swap, dut.c), load | swap << 1 | c << 2)
            expected.append(
                multiply_add(
                    np.array([a]),
                    np.array([active]),
                    np.array([c]),
                    operand=config.operand_format,
                    accumulator=config.accumulator_format,
                )[0]
            )
            flags.append(load | swap << 1)
            if swap:
                active = shadow
            if load:
                shadow = weight
            _, _, o, next_flags = await ctx.tick().sample(dut.o, dut.next_flags)
            seen.append(o)
            assert cycle == 0 or next_flags == flags[cycle - 1]
        assert seen[2 + config.latency :] == expected[2 : -config.latency]

    simulate(dut, testbench)


@pytest.mark.parametrize("operand", ARITHMETIC)
def test_a_format_has_the_latency_it_needs(operand):
    latency = usual(operand).latency
    assert latency >= usual(operand).least_latency
    assert latency in (2, 4)  # divides the default number of column blocks (output-stationary)


@pytest.mark.slow
@pytest.mark.parametrize("operand", ARITHMETIC)
@pytest.mark.parametrize(
    "element", [WeightStationaryProcessingElement, OutputStationaryProcessingElement]
)
def test_cells_and_depth_of_every_format(operand, element):
    """The default latency of each format keeps its elements within the budgets."""
    measured = measure(element(usual(operand)), "element")
    assert measured.depth <= DEPTH
    assert measured.cells <= ELEMENT_CELLS


def test_is_emitted_once_with_stable_ports():
    text = emit(UnpackedElement(CONFIGS[1]), "top").verilog
    start = text.index("module weight_stationary_processing_element")
    header = text[start : text.index(");", start)]
    for port in ("word", "next_word", "weight", "c", "o", "clk"):
        assert port in header
