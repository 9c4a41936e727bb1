"""Tests of queues and register slices: order, depth, latency, throughput, level."""

import gc
import random
import re

import pytest
from amaranth.lib import data

from spica.hw.lib.register_slices import RegisterSlice
from spica.hw.lib.streams import Queue
from spica.sim.engine.testbench import get, put, require_no_loop, simulate

DEPTHS = [1, 2, 3, 16, 17, 40]


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("depth", [*DEPTHS, None])
def test_keeps_order_and_loses_nothing(depth, stall):
    dut = RegisterSlice(8) if depth is None else Queue(8, depth)
    require_no_loop(dut)
    rng = random.Random(depth)
    payloads = [rng.choice([0, 255, rng.randrange(256)]) for _ in range(150)]

    async def feed(ctx):
        await put(ctx, dut.i, payloads, rng=random.Random(1), stall=stall)

    async def check(ctx):
        assert await get(ctx, dut.o, len(payloads), rng=random.Random(2), stall=stall) == payloads

    simulate(dut, feed, check)


@pytest.mark.parametrize("depth", DEPTHS)
def test_holds_as_many_as_stated(depth):
    dut = Queue(8, depth)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        accepted = 0
        for _ in range(depth + 5):
            ctx.set(dut.i.payload, accepted & 0xFF)
            assert ctx.get(dut.i.ready) == (accepted < depth)
            accepted += ctx.get(dut.i.ready)
            await ctx.tick()
            assert ctx.get(dut.level) == accepted
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 1)
        for n in range(depth):
            assert (ctx.get(dut.o.valid), ctx.get(dut.o.payload)) == (1, n)
            await ctx.tick()
        assert not ctx.get(dut.o.valid)
        assert ctx.get(dut.level) == 0

    simulate(dut, bench)


@pytest.mark.parametrize(("depth", "latency"), [(1, 1), (16, 1), (17, 2), (40, 2)])
def test_latency(depth, latency):
    dut = Queue(8, depth)

    async def bench(ctx):
        ctx.set(dut.i.payload, 7)
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        for _ in range(latency - 1):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
        assert (ctx.get(dut.o.valid), ctx.get(dut.o.payload)) == (1, 7)

    simulate(dut, bench)


@pytest.mark.parametrize("depth", [2, 3, 16, 17, 40])
def test_one_payload_a_cycle(depth):
    dut = Queue(8, depth)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(3)
        for _ in range(50):
            assert ctx.get(dut.i.ready)
            assert ctx.get(dut.o.valid)
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("make", [lambda layout: Queue(layout, 2), RegisterSlice])
def test_carries_structures(make):
    layout = data.StructLayout({"a": 3, "b": data.ArrayLayout(5, 2)})
    dut = make(layout)

    async def bench(ctx):
        ctx.set(dut.i.payload, {"a": 5, "b": [31, 9]})
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        payload = ctx.get(dut.o.payload)
        assert (payload.a, payload.b[0], payload.b[1]) == (5, 31, 9)

    simulate(dut, bench)


@pytest.mark.filterwarnings("ignore:.*created but never used")
@pytest.mark.full
def test_a_queue_of_nothing_is_refused():
    with pytest.raises(ValueError, match=re.escape("depth must be at least 1, not 0")):
        Queue(8, 0)
    gc.collect()  # now, while its warning is ignored
