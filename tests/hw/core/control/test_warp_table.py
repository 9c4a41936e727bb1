"""Tests of the warp table: masks, active warps, start and end."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.control.warp_table import WarpTable
from spica.sim.engine.testbench import require_no_loop, simulate


def requests(config, count, rng):
    """Return the requests of each cycle: a warp and its mask, starting warps, the end."""
    for _ in range(count):
        kind = rng.choice(("change", "change", "start", "both", "nothing", "end"))
        warp = rng.randrange(config.warps)
        mask = rng.choice((0, (1 << config.threads) - 1, rng.getrandbits(config.threads)))
        start = rng.getrandbits(config.warps) & ~(1 << warp)
        yield (
            1 << warp if kind in ("change", "both") else 0,
            mask,
            start if kind in ("start", "both") else 0,
            kind == "end" and rng.random() < 0.2,
        )


def follow(masks, active, asked):
    """Return masks and active warps after a request."""
    change, mask, start, end = asked
    if end:
        return [0] * len(masks), 0
    masks = [
        mask if change >> warp & 1 else old | start >> warp & 1 for warp, old in enumerate(masks)
    ]
    return masks, (active & ~change) | (change if mask else 0) | start


@pytest.mark.parametrize(("warps", "threads"), [(1, 1), (2, 3), (8, 8), (32, 32)])
def test_random_changes(warps, threads):
    config = CoreConfig(warps=warps, threads=threads)
    dut = WarpTable(config)
    require_no_loop(dut, ports=[])

    async def bench(ctx):
        masks, active = [1] + [0] * (warps - 1), 1
        for asked in requests(config, 300, random.Random(warps)):
            inputs = (dut.change, dut.change_mask, dut.start, dut.end)
            for signal, value in zip(inputs, asked, strict=True):
                ctx.set(signal, value)
            _, _, found, running = await ctx.tick().sample(dut.mask, dut.active)
            assert ([*found], running) == (masks, active)
            masks, active = follow(masks, active, asked)

    simulate(dut, bench)
