"""Tests of register slices: no payload lost or late, and `ready` independent of inputs."""

import random

import pytest

from spica.hw.emit.emitter import emit
from spica.hw.lib.register_slices import RegisterSlice, SkidBuffer
from spica.sim.engine.testbench import require_no_loop, simulate


@pytest.mark.parametrize("busy", [0.3, 1.0])
@pytest.mark.parametrize("willing", [0.0, 0.5, 1.0])
def test_every_cycle_is_that_of_a_model(busy, willing):
    dut = require_no_loop(SkidBuffer(16))
    rng = random.Random(1)

    async def bench(ctx):
        stalled = None
        for number in range(500):
            valid, ready = rng.random() < busy, rng.random() < willing
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.payload, number)
            ctx.set(dut.o.ready, not ready)
            assert ctx.get(dut.i.ready) == (stalled is None)
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.i.ready) == (stalled is None), "it does not follow the other ready"
            offered = stalled if stalled is not None else number if valid else None
            assert ctx.get(dut.o.valid) == (offered is not None)
            if offered is not None:
                assert ctx.get(dut.o.payload) == offered
            stalled = None if ready else offered
            await ctx.tick()

    simulate(dut, bench)


def test_a_slice_cuts_both_ways_and_passes_one_payload_a_cycle():
    dut = RegisterSlice(8)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        for n in range(20):
            ctx.set(dut.i.payload, n)
            ctx.set(dut.o.ready, 1)
            assert ctx.get(dut.i.ready)
            assert ctx.get(dut.o.valid) == (n > 0)
            assert n == 0 or ctx.get(dut.o.payload) == n - 1
            await ctx.tick()
        # A refused payload is held, one more is accepted, and then none without a take.
        ctx.set(dut.o.ready, 0)
        ctx.set(dut.i.payload, 20)
        assert ctx.get(dut.i.ready)
        await ctx.tick()
        assert (ctx.get(dut.i.ready), ctx.get(dut.o.payload)) == (0, 19)
        ctx.set(dut.o.ready, 1)
        assert not ctx.get(dut.i.ready)
        await ctx.tick()
        assert (ctx.get(dut.i.ready), ctx.get(dut.o.payload)) == (1, 20)
        ctx.set(dut.i.valid, 0)
        assert ctx.get(dut.o.valid)
        await ctx.tick()
        assert not ctx.get(dut.o.valid)

    simulate(dut, bench)


@pytest.mark.parametrize("kind", [SkidBuffer, RegisterSlice])
def test_converts_to_verilog(kind):
    ports = {port.name for port in emit(kind(8), "cut").ports}
    assert {"i_ready", "i_payload", "o_valid", "o_payload"} <= ports
