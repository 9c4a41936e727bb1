"""Tests of one unit on Verilator against Amaranth's simulator, with a million vectors."""

import random

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.sim.engine.block_bench import BlockBench
from spica.sim.engine.testbench import simulate

LATENCY = 2


class Mixer(wiring.Component):
    """Products and a wide word, with a latency of two cycles."""

    a: In(16)
    b: In(16)
    wide: In(100)
    product: Out(32)
    tall: Out(48)
    turned: Out(100)

    def elaborate(self, platform):
        m = Module()
        a, b, wide = Signal(16), Signal(16), Signal(100)
        m.d.sync += [a.eq(self.a), b.eq(self.b), wide.eq(self.wide)]
        m.d.sync += [
            self.product.eq(a * b),
            self.tall.eq(Cat(b, a, a ^ b)),
            self.turned.eq(wide.rotate_left(36)),
        ]
        return m


@pytest.fixture(scope="module")
def bench():
    with BlockBench(Mixer(), optimize=0) as bench:
        yield bench


@pytest.mark.full
def test_values_and_latency(bench):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 1 << 16, (2, 1000), np.uint16).astype(np.uint64)
    wide = rng.integers(0, 1 << 32, (1000, 4), np.uint32)
    results = bench.run(a=a, b=b, wide=wide)
    assert (results["product"][LATENCY:] == (a * b)[:-LATENCY]).all()
    tall = b | a << np.uint64(16) | (a ^ b) << np.uint64(32)
    assert (results["tall"][LATENCY:] == tall[:-LATENCY]).all()
    for k in range(0, 900, 100):
        value = int.from_bytes(wide[k].tobytes(), "little") & (1 << 100) - 1
        turned = (value << 36 | value >> 64) & (1 << 100) - 1
        assert int.from_bytes(results["turned"][k + LATENCY].tobytes(), "little") == turned


@pytest.mark.full
def test_agrees_with_amaranth(bench):
    rng = random.Random(0)
    vectors = [(rng.randrange(1 << 16), rng.randrange(1 << 16)) for _ in range(50)]
    dut, seen = Mixer(), []

    async def drive(ctx):
        for a, b in vectors:
            ctx.set(Cat(dut.a, dut.b), a | b << 16)
            _, _, product = await ctx.tick().sample(dut.product)
            seen.append(product)

    simulate(dut, drive)
    bench.reset()
    results = bench.run(a=np.array([a for a, _ in vectors]), b=np.array([b for _, b in vectors]))
    assert results["product"].tolist() == seen


@pytest.mark.full
def test_numbers_are_held_and_cut(bench):
    bench.reset()
    results = bench.run(cycles=4, a=-1, b=2)
    assert results["product"].tolist() == [0, 0, 0x1FFFE, 0x1FFFE]


@pytest.mark.full
def test_a_million_vectors(bench):
    values = np.arange(1_000_000, dtype=np.uint32) & 0xFFFF
    results = bench.run(a=values, b=3)
    assert (results["product"][LATENCY:] == 3 * values[:-LATENCY]).all()


@pytest.mark.full
def test_wrong_inputs_are_refused(bench):
    with pytest.raises(ValueError, match="inputs must be among a, b, wide, not 'c'"):
        bench.run(c=np.zeros(3))
    with pytest.raises(ValueError, match=r"inputs must all have one length, not \[2, 3\]"):
        bench.run(a=np.zeros(3, int), b=np.zeros(2, int))
    with pytest.raises(ValueError, match=r"at most 6 words per cycle, not shape \(1, 7\)"):
        bench.engine.vectors(np.zeros((1, 7), np.uint32))


@pytest.mark.full
def test_rows_may_end_early_be_held_and_wait_for_their_results(bench):
    words = np.array([[3, 5], [7, 11], [13, 17]], np.uint32)  # `wide` is 0
    (product,) = (port for port in bench.layout.outputs if port.name == "product")
    for interval, start in ((1, None), (3, None), (3, 1)):
        rows = bench.engine.vectors(words, interval=interval, latency=LATENCY, start_word=start)
        assert rows[:, product.word].tolist() == [15, 77, 221]
    # The second word is valid in the first cycle only, so its product is gone one cycle later.
    rows = bench.engine.vectors(words, interval=3, latency=LATENCY + 1, start_word=1)
    assert rows[:, product.word].tolist() == [0, 0, 0]


@pytest.mark.full
def test_without_its_clock_a_domain_stands_still(bench):
    bench.engine.vectors(np.array([[3, 5]], np.uint32), latency=LATENCY)
    held = bench.engine.vectors(np.array([[7, 11]], np.uint32), latency=9, domains=[])
    (product,) = (port for port in bench.layout.outputs if port.name == "product")
    assert held[0, product.word] == 15
