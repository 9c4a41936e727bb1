"""Tests of the hardware host with a slave that stalls, refuses or never answers."""

import random

import pytest
from amaranth import *

from spica.kernels.commands import CommandList
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.fpga.self_test.host_player import HostPlayer, HostPlayerConfig


def play(commands: CommandList, slave, patience: int = 200):
    """Run commands; return those the slave received, and the end state."""
    rows = tuple(map(tuple, commands.array().tolist()))
    dut = require_no_loop(HostPlayer(HostPlayerConfig(commands=rows, patience=patience)))
    axil, rng, seen = dut.axil, random.Random(1), []
    ended: list[str] = []

    async def pause(ctx):
        while rng.random() < 0.5:
            await ctx.tick()

    async def take(ctx, valid, ready, payload):
        await pause(ctx)
        ctx.set(ready, 1)
        while not ctx.get(valid):
            await ctx.tick()
        value = ctx.get(payload)
        await ctx.tick()
        ctx.set(ready, 0)
        return value

    async def give(ctx, valid, ready):
        await pause(ctx)
        ctx.set(valid, 1)
        while not ctx.get(ready):
            await ctx.tick()
        await ctx.tick()
        ctx.set(valid, 0)

    async def serve(ctx):
        while not ended:
            await ctx.tick()
            if ctx.get(axil.awvalid):
                address = await take(ctx, axil.awvalid, axil.awready, axil.awaddr)
                word = await take(ctx, axil.wvalid, axil.wready, axil.wdata)
                seen.append(("write", address, word))
                ctx.set(axil.bresp, slave(address, word))
                await give(ctx, axil.bvalid, axil.bready)
            elif ctx.get(axil.arvalid):
                address = await take(ctx, axil.arvalid, axil.arready, axil.araddr)
                word = slave(address, None)
                if word is None:
                    return
                seen.append(("read", address, word))
                ctx.set(axil.rdata, word & 0xFFFF_FFFF)
                ctx.set(axil.rresp, 0b10 if word >> 32 else 0)
                await give(ctx, axil.rvalid, axil.rready)

    async def watch(ctx):
        while not (ctx.get(dut.done) or ctx.get(dut.failed)):
            await ctx.tick()
        ended.append("done" if ctx.get(dut.done) else "failed")
        offers = Cat(axil.awvalid, axil.arvalid, axil.wvalid)
        last = ctx.get(offers)
        for _ in range(50):  # nothing follows the end; an offer is held
            await ctx.tick()
            assert not ctx.get(offers) & ~last
            last = ctx.get(offers)

    simulate(dut, watch, serve)
    return seen, ended[0]


def test_commands_in_their_order():
    commands = CommandList()
    commands.write(0x1004, 0xDEAD_BEEF)
    commands.wait_equal(0x20, 0x30, mask=0xF0)
    commands.wait_reached(0x24, 2)
    commands.read(0x28)
    commands.write(0x1008, 5)
    answers = {0x20: iter([0x45, 0x21, 0x31]), 0x24: iter([0xFFFF_FFFE, 1, 3]), 0x28: iter([9])}
    seen, ended = play(
        commands, lambda address, word: 0 if word is not None else next(answers[address])
    )
    assert ended == "done"
    assert seen == [
        ("write", 0x1004, 0xDEAD_BEEF),
        *(("read", 0x20, word) for word in (0x45, 0x21, 0x31)),
        *(("read", 0x24, word) for word in (0xFFFF_FFFE, 1, 3)),
        ("read", 0x28, 9),
        ("write", 0x1008, 5),
    ]


@pytest.mark.parametrize(
    "slave",
    [
        lambda address, word: 0b10 if word == 7 else 0,  # a write is refused
        lambda address, word: 1 << 32 if word is None else 0,  # a read is refused
        lambda address, word: 0,  # the awaited value never comes
        lambda address, word: None if word is None else 0,  # no answer at all
    ],
)
def test_a_failure_ends_it(slave):
    commands = CommandList()
    commands.write(0, 1)
    commands.write(4, 7)
    commands.wait_equal(8, 1)
    commands.write(12, 2)
    seen, ended = play(commands, slave)
    assert ended == "failed"
    assert ("write", 12, 2) not in seen


@pytest.mark.parametrize(
    ("commands", "message"),
    [((), "at least 1, not 0"), (((4, 0, 0, 0),), "operation must be .* not 4")],
)
def test_bad_lists(commands, message):
    with pytest.raises(ValueError, match=message):
        HostPlayerConfig(commands=commands)
