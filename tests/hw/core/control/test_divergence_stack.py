"""Tests of the divergence stack: pushed entries are popped, for each warp separately."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.control.divergence_stack import DivergenceStack, StackChange
from spica.sim.engine.testbench import require_no_loop, simulate


def make(warps, threads):
    dut = DivergenceStack(CoreConfig(warps=warps, threads=threads))
    require_no_loop(dut, ports=[])
    return dut


async def look(ctx, dut, warp):
    """Read a warp's stack; return its state in the next cycle, while another warp is selected."""
    ctx.set(dut.look, 1)
    ctx.set(dut.look_warp, warp)
    await ctx.tick()
    ctx.set(dut.look, 0)
    ctx.set(dut.look_warp, 0)
    answer = ctx.get(dut.answer)
    top = answer.top
    return answer.is_empty, answer.is_full, (top.both, top.rest, top.pc)


async def change(ctx, dut, what, entry=(0, 0, 0)):
    ctx.set(dut.change, what)
    ctx.set(dut.push, dict(zip(("both", "rest", "pc"), entry, strict=True)))
    await ctx.tick()
    ctx.set(dut.change, StackChange.NONE)


@pytest.mark.parametrize(("warps", "threads"), [(1, 2), (2, 2), (3, 5), (8, 8), (32, 32)])
@pytest.mark.quick(2)
def test_random_changes(warps, threads):
    dut = make(warps, threads)
    rng = random.Random(threads)
    depth = threads - 1

    async def bench(ctx):
        stacks = [[] for _ in range(warps)]
        for _ in range(400):
            warp = rng.randrange(min(warps, 3))
            stack = stacks[warp]
            empty, full, top = await look(ctx, dut, warp)
            assert (empty, full) == (not stack, len(stack) == depth)
            if stack:
                assert top == stack[-1]
            for _ in range(rng.choice((0, 0, 2))):
                await ctx.tick()
            allowed = [StackChange.NONE]
            allowed += [StackChange.PUSH] * 6 if len(stack) < depth else []
            allowed += [StackChange.POP] * 3 + [StackChange.SECOND] * 2 if stack else []
            what = rng.choice(allowed)
            entry = (rng.getrandbits(threads), rng.getrandbits(threads), rng.getrandbits(30))
            await change(ctx, dut, what, entry)
            if what is StackChange.PUSH:
                stack.append(entry)
            elif what is StackChange.POP:
                stack.pop()
            elif what is StackChange.SECOND:
                stack[-1] = (stack[-1][0], 0, stack[-1][2])

    simulate(dut, bench)


def test_as_deep_as_it_says():
    config = CoreConfig(warps=2, threads=8)
    dut = make(config.warps, config.threads)

    async def bench(ctx):
        for level in range(config.stack_depth):
            _, full, _ = await look(ctx, dut, 1)
            assert not full
            await change(ctx, dut, StackChange.PUSH, (255, 1, level))
        for level in reversed(range(config.stack_depth)):
            empty, full, top = await look(ctx, dut, 1)
            assert not empty
            assert full == (level == config.stack_depth - 1)
            assert top == (255, 1, level)
            await change(ctx, dut, StackChange.POP)
        assert (await look(ctx, dut, 1))[0]
        assert (await look(ctx, dut, 0))[0]

    simulate(dut, bench)


def test_one_thread_has_no_stack():
    dut = make(2, 1)

    async def bench(ctx):
        assert (ctx.get(dut.answer.is_empty), ctx.get(dut.answer.is_full)) == (1, 1)

    simulate(dut, bench, domains=())
