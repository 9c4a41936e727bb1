"""Tests of `hw.lib.one_hot`: selection of a value, and lowest set bit."""

import random

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.lib.one_hot import lowest, select
from spica.sim.engine.testbench import simulate


class Selector(wiring.Component):
    """`select` as a component."""

    def __init__(self, choices):
        self.choices = choices
        super().__init__(
            {"grant": In(choices), "o": Out(8)} | {f"i_{n}": In(8) for n in range(choices)}
        )

    def elaborate(self, platform):
        m = Module()
        values = [getattr(self, f"i_{n}") for n in range(self.choices)]
        m.d.comb += self.o.eq(select(self.grant, values))
        return m


@pytest.mark.parametrize("choices", [1, 2, 3, 8])
def test_select_returns_what_was_granted(choices):
    dut = Selector(choices)

    async def bench(ctx):
        for n in range(choices):
            ctx.set(getattr(dut, f"i_{n}"), 10 + n)
        for n in range(choices):
            ctx.set(dut.grant, 1 << n)
            assert ctx.get(dut.o) == 10 + n

    simulate(dut, bench, domains=())


class Lowest(wiring.Component):
    """`lowest` as a component."""

    def __init__(self, width):
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(lowest(self.i))
        return m


@pytest.mark.parametrize("width", [1, 3, 8, 9, 16, 33])
def test_lowest_bit(width):
    dut = Lowest(width)
    rng = random.Random(width)
    full = (1 << width) - 1
    some = [rng.getrandbits(width) << rng.randrange(width) & full for _ in range(100)]

    async def bench(ctx):
        for value in (0, 1, full, 1 << (width - 1), *some):
            ctx.set(dut.i, value)
            assert ctx.get(dut.o) == value & -value, f"{value:#b}"

    simulate(dut, bench, domains=())
