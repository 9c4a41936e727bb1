"""Tests of the transpose stage: transposed and straight lines in one stream."""

import random

import pytest

from spica.hw.matrix.systolic.fetch.transpose_stage import TransposeStage
from spica.hw.matrix.systolic.fetch.transposer import TransposerConfig
from spica.sim.engine.testbench import get, put, require_no_loop, simulate
from support.packing import joined


@pytest.mark.parametrize("stall", [0.0, 0.5])
@pytest.mark.parametrize("size", [2, 4])
def test_blocks_are_transposed_and_lines_pass(size, stall):
    config = TransposerConfig(size=size, width=8)
    dut = TransposeStage(config)
    require_no_loop(TransposeStage, config)
    rng = random.Random(size)
    lines, expected = [], []
    for _ in range(60):
        block = [[rng.getrandbits(8) for _ in range(size)] for _ in range(size)]
        if rng.random() < 0.6:
            keep = rng.randint(1, size)
            lines += [{"line": joined(row, 8), "transpose": 1, "keep": keep} for row in block]
            expected += [joined(column, 8) for column in list(zip(*block, strict=True))[:keep]]
        else:
            count = rng.randint(1, size)
            lines += [{"line": joined(row, 8), "transpose": 0, "keep": 0} for row in block[:count]]
            expected += [joined(row, 8) for row in block[:count]]

    async def feed(ctx):
        ctx.set(dut.more, 1)
        await put(ctx, dut.i, lines, rng=random.Random(1), stall=stall)
        ctx.set(dut.more, 0)

    async def check(ctx):
        assert await get(ctx, dut.o, len(expected), rng=random.Random(2), stall=stall) == expected
        assert not ctx.get(dut.o.valid)

    simulate(dut, feed, check)


def test_blocks_follow_without_a_pause():
    config = TransposerConfig(size=4, width=8)
    dut = TransposeStage(config)
    cycles = []

    async def feed(ctx):
        lines = [{"line": n, "transpose": 1, "keep": 4} for n in range(40)]
        ctx.set(dut.more, 1)
        await put(ctx, dut.i, lines, rng=random.Random(1))
        ctx.set(dut.more, 0)

    async def check(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(60):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            if valid:
                cycles.append(cycle)

    simulate(dut, feed, check)
    assert cycles == list(range(4, 44))
