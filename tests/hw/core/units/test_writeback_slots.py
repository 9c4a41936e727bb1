"""Tests of `hw.core.units.writeback_slots`: results of two latencies, one per cycle, none lost."""

import random
import re

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from spica.hw.core.units.writeback_slots import WritebackSlots, WritebackSlotsConfig
from spica.sim.engine.testbench import require_no_loop, simulate

LATENCIES = [2, 3, 4, 7]


class Pipeline(wiring.Component):
    """Slots, and a pipeline that inverts the value of late results."""

    def __init__(self, latency: int):
        self.slots = WritebackSlots(WritebackSlotsConfig(latency=latency, common=8, value=16))
        members = self.slots.signature.members
        super().__init__({"i": members["i"], "o": members["o"]})

    def elaborate(self, platform):
        m = Module()
        m.submodules.slots = slots = self.slots
        connect(m, flipped(self.i), slots.i)
        connect(m, slots.o, flipped(self.o))
        value, inverted = self.i.payload.value, Signal(16)
        for number, enable in enumerate(slots.enable):
            register = Signal(16, name=f"register_{number}")
            with m.If(enable):
                m.d.sync += register.eq(value)
            value = register
        m.d.comb += [
            inverted.eq(~value),
            slots.late_value.eq(inverted ^ (slots.next_common == 0xFF).replicate(16)),
        ]
        return m


def complete(result):
    """Return the expected output of an accepted result."""
    common, is_late, value = result
    if is_late:
        value ^= 0 if common == 0xFF else 0xFFFF
    return common, is_late, value


@pytest.mark.parametrize("late", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.quick(2)
def test_every_cycle_is_that_of_a_model(latency, late):
    require_no_loop(Pipeline, latency)
    dut = Pipeline(latency)
    rng = random.Random(latency)

    async def bench(ctx):
        slots = [None] * latency
        accepted = 0
        for cycle in range(800):
            busy = 1.0 if cycle < 200 else rng.choice([0.2, 0.9])
            result = (rng.choice([0xFF, rng.getrandbits(8)]), rng.random() < late)
            result += (rng.choice([0, 0xFFFF, rng.getrandbits(16)]),)
            valid, ready = rng.random() < busy, cycle < 100 or rng.random() < 0.6
            ctx.set(dut.i.payload, dict(zip(("common", "is_late", "value"), result, strict=True)))
            ctx.set(dut.i.valid, valid)
            ctx.set(dut.o.ready, ready)
            moves = slots[0] is None or ready
            assert ctx.get(dut.i.ready) == moves
            assert ctx.get(dut.o.valid) == (slots[0] is not None)
            if slots[0] is not None:
                payload = ctx.get(dut.o.payload)
                got = (payload.common, payload.is_late, payload.value)
                assert got == complete(slots[0])
            arriving = [valid and result[1]] + [slot and slot[1] for slot in reversed(slots[2:])]
            enable = sum(1 << k for k, arrives in enumerate(arriving) if arrives and moves)
            assert ctx.get(dut.slots.enable) == enable, "registers take late results alone"
            await ctx.tick()
            if moves:
                slots = [*slots[1:], None]
                if valid:
                    slots[latency - 1 if result[1] else slots.index(None)] = result
                    accepted += 1
        assert accepted > 300

    simulate(dut, bench)


@pytest.mark.parametrize("latency", LATENCIES)
def test_late_ones_first_and_then_both_without_a_gap(latency):
    dut = Pipeline(latency)
    rng = random.Random(1)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.ready, 1)
        for cycle in range(100):
            is_late = cycle < latency or rng.random() < 0.5
            ctx.set(dut.i.payload, {"common": 1, "is_late": is_late, "value": cycle})
            assert ctx.get(dut.i.ready)
            assert ctx.get(dut.o.valid) == (cycle >= latency)
            await ctx.tick()

    simulate(dut, bench)


def test_latency_of_one_is_refused():
    with pytest.raises(ValueError, match=re.escape("latency must be between 2 and 16, not 1")):
        WritebackSlotsConfig(latency=1, common=1, value=1)
