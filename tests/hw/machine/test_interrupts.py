"""Tests of interrupts: against a model under random events and writes, and through the host."""

import random

from spica.hw.isa.memory_map import CONTROL
from spica.hw.machine.host_control import Control, ControlConfig
from spica.hw.machine.interrupts import Interrupts
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from support.cluster.axi_lite_master import read, write

DONE, ERROR = 1, 2
OKAY = 0
ENABLE, PENDING = (CONTROL[f"interrupt_{name}"].offset for name in ("enable", "pending"))


class Model:
    """Cycle-exact model of `Interrupts`."""

    def __init__(self):
        self.works = self.error = self.enable = self.pending = self.irq = 0

    def step(self, status, word, enable, pending):
        """Advance one cycle; a word is written to the registers `enable`, `pending`."""
        works, error = int(status & 0b1011 != 0), status >> 2 & 1
        self.irq = int(self.pending & self.enable != 0)
        if pending:
            self.pending &= ~word
        if self.works and not works:
            self.pending |= DONE
        if error and not self.error:
            self.pending |= ERROR
        if enable:
            self.enable = word
        self.works, self.error = works, error


def test_interrupts_are_those_of_the_model():
    dut = require_no_loop(Interrupts(4))
    model, rng = Model(), random.Random(1)
    simultaneous = 0

    async def bench(ctx):
        nonlocal simultaneous
        for _ in range(3000):
            enable, pending, word = rng.randrange(2), rng.randrange(2), rng.randrange(4)
            # Half of the time one of the four is set, so that work often ends.
            status = rng.choice([0, rng.randrange(16), 1 << rng.randrange(4), 4])
            simultaneous += pending and word & DONE and model.works and not status & 0b1011
            ctx.set(dut.status, status)
            ctx.set(dut.write, {"word": word, "enable": enable, "pending": pending})
            await ctx.tick()
            model.step(status, word, enable, pending)
            for name in ("enable", "pending", "irq"):
                assert ctx.get(getattr(dut, name)) == getattr(model, name), name

    simulate(dut, bench)
    assert simultaneous > 100


def test_a_host_enables_and_clears():
    dut = require_no_loop(Control(ControlConfig.of(PRESETS["tiny"])))

    async def bench(ctx):
        bus = dut.s_axil
        for busy in ("dma_busy", "matrix_busy", "cores_run"):
            assert await read(ctx, bus, PENDING) == (0, OKAY)
            assert await write(ctx, bus, ENABLE, ERROR) == OKAY
            ctx.set(getattr(dut, busy), 1)
            await ctx.tick().repeat(3)
            ctx.set(getattr(dut, busy), 0)
            await ctx.tick().repeat(10)
            assert await read(ctx, bus, PENDING) == (DONE, OKAY)
            assert not ctx.get(dut.irq)  # it is not enabled
            assert await write(ctx, bus, ENABLE, DONE | ERROR) == OKAY
            assert await read(ctx, bus, ENABLE) == (DONE | ERROR, OKAY)
            assert ctx.get(dut.irq)
            assert await write(ctx, bus, PENDING, ERROR) == OKAY
            assert await read(ctx, bus, PENDING) == (DONE, OKAY)
            assert await write(ctx, bus, PENDING, DONE) == OKAY
            await ctx.tick()
            assert not ctx.get(dut.irq)

    simulate(dut, bench)


def test_latency_of_an_event():
    dut = require_no_loop(Control(ControlConfig.of(PRESETS["tiny_matrix"])))

    async def bench(ctx):
        assert await write(ctx, dut.s_axil, ENABLE, ERROR) == OKAY
        ctx.set(dut.error, 1)
        cycles = 0
        while not ctx.get(dut.irq):
            await ctx.tick()
            cycles += 1
        assert cycles == 3
        assert await write(ctx, dut.s_axil, PENDING, ERROR) == OKAY
        # The error lasts: it does not appear again.
        await ctx.tick().repeat(10)
        assert not ctx.get(dut.irq)

    simulate(dut, bench)
