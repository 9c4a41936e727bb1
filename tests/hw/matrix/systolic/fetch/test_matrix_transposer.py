"""Tests of `hw.matrix.systolic.fetch.transposer` and `skewed` against list comprehensions."""

import random

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.matrix.systolic.fetch.transposer import Transposer, TransposerConfig
from spica.hw.matrix.systolic.skew import SkewConfig, skewed
from spica.sim.engine.testbench import require_no_loop, simulate
from support.packing import joined


class Skew(wiring.Component):
    """A word, and the same word with skewed lanes."""

    def __init__(self, config):
        self.config = config
        width = config.lanes * config.width
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(skewed(m, self.i, self.config, "stage"))
        return m


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(("size", "width"), [(2, 16), (4, 8), (8, 16), (3, 5)])
def test_columns_leave_a_block_later(size, width, stall):
    dut = require_no_loop(Transposer(TransposerConfig(size=size, width=width)))
    rng = random.Random(size)
    blocks = [
        [[rng.getrandbits(width) for _ in range(size)] for _ in range(size)] for _ in range(6)
    ]
    rows = [row for block in blocks for row in block] + [[0] * size] * size
    columns = [[row[j] for row in block] for block in blocks for j in range(size)]

    async def testbench(ctx):
        seen = []
        for row in rows:
            while rng.random() < stall:
                ctx.set(dut.i.valid, 0)
                ctx.set(dut.i.payload, rng.getrandbits(size * width))
                await ctx.tick()
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.payload, joined(row, width))
            _, _, out = await ctx.tick().sample(dut.o)
            seen.append(out)
        assert seen[size:] == [joined(column, width) for column in columns]

    simulate(dut, testbench)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize(("lanes", "width", "step"), [(4, 8, 1), (4, 16, 3), (2, 1, 4), (3, 3, 1)])
def test_each_lane_has_its_delay(lanes, width, step, falling):
    dut = require_no_loop(Skew(SkewConfig(lanes=lanes, width=width, step=step, falling=falling)))
    rng = random.Random(lanes)
    words = [[rng.getrandbits(width) for _ in range(lanes)] for _ in range(30)]

    async def testbench(ctx):
        for cycle, word in enumerate(words):
            ctx.set(dut.i, joined(word, width))
            await ctx.delay(0)
            out = ctx.get(dut.o)
            for lane in range(lanes):
                delay = (lanes - 1 - lane if falling else lane) * step
                if cycle >= delay:
                    expected = words[cycle - delay][lane]
                    assert out >> (lane * width) & ((1 << width) - 1) == expected
            await ctx.tick()

    simulate(dut, testbench)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (TransposerConfig, {"size": 1, "width": 8}, "size must be between 2 and 64, not 1"),
        (TransposerConfig, {"size": 2, "width": 0}, "width must be between 1 and 64, not 0"),
        (SkewConfig, {"lanes": 0, "width": 8}, "lanes must be between 2 and 1024, not 0"),
        (SkewConfig, {"lanes": 2, "width": 8, "step": -1}, "step must be between 1 and 64, not -1"),
    ],
)
def test_bad_parameters_are_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters)
