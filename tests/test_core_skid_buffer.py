"""`hw.core.skid_buffer`: nothing is lost, nothing late, and `ready` follows nobody."""

import random

import pytest

from spica.hw.core.skid_buffer import SkidBuffer
from spica.hw.emit import emit
from spica.sim.bench import require_no_loop, simulate


@pytest.mark.parametrize("busy", [0.3, 1.0])
@pytest.mark.parametrize("willing", [0.0, 0.5, 1.0])
def test_every_cycle_is_that_of_a_model(busy, willing):
    dut = SkidBuffer(16)
    require_no_loop(dut)
    rng = random.Random(1)

    async def bench(ctx):
        kept = None
        for number in range(500):
            valid, ready = rng.random() < busy, rng.random() < willing
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.i.payload, number)
            ctx.set(dut.o.ready, not ready)
            assert ctx.get(dut.i.ready) == (kept is None)
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.i.ready) == (kept is None), "it does not follow the other ready"
            offered = kept if kept is not None else number if valid else None
            assert ctx.get(dut.o.valid) == (offered is not None)
            if offered is not None:
                assert ctx.get(dut.o.payload) == offered
            kept = None if ready else offered
            await ctx.tick()

    simulate(dut, bench)


def test_converts_to_verilog():
    ports = {port.name for port in emit(SkidBuffer(8), "skid_buffer").ports}
    assert {"i_ready", "i_payload", "o_valid", "o_payload"} <= ports
