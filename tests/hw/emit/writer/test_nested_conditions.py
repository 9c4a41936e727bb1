"""Test of conditions in conditions: each `else` belongs to its own `if`."""

import random

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emitter import emit
from spica.sim.engine.block_bench import BlockBench


class Machine(wiring.Component):
    """Two states, each left on a condition of its own."""

    start: In(1)
    stop: In(1)
    state: Out(1)

    def elaborate(self, platform):
        m = Module()
        with m.If(~self.state), m.If(self.start):
            m.d.sync += self.state.eq(1)
        with m.Elif(self.stop):
            m.d.sync += self.state.eq(0)
        return m


def test_a_condition_in_another_has_no_else():
    rng = random.Random(1)
    inputs = [[rng.randrange(2) for _ in range(200)] for _ in range(2)]
    state, expected = 0, []
    for start, stop in zip(*inputs, strict=True):
        expected.append(state)
        state = start if not state else not stop
    with BlockBench(emit(Machine(), "machine"), optimize=0) as bench:
        bench.reset()
        states = bench.run(start=inputs[0], stop=inputs[1])["state"].tolist()
    assert states == expected
