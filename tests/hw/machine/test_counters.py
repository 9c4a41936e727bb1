"""Tests of `hw.machine.counters`: table and counts."""

import dataclasses
import random

import pytest
from amaranth import Signal
from amaranth.lib import data

from spica.hw.config import DmaBlockConfig, MemoryUnitConfig, SharedMemoryConfig
from spica.hw.isa.memory_map import COUNTERS_END
from spica.hw.machine.counters import Counters, counter_table
from spica.hw.machine.host_control import ControlConfig
from spica.hw.matrix.systolic.systolic_unit import systolic_unit_events
from spica.hw.memory.dma.signature import dma_events
from spica.hw.memory.l2.l2_slice import EVENTS
from spica.hw.memory.memory_unit.layouts import memory_unit_events
from spica.hw.memory.shared.shared_memory import cluster_ports, shared_events
from spica.hw.presets import PRESETS
from spica.hw.styles.shared_fed.layouts import event_layout
from spica.sim.engine.testbench import require_no_loop, simulate

TINY = PRESETS["tiny_matrix"]


def lanes_config():
    return dataclasses.replace(
        TINY, shared=SharedMemoryConfig(size=16 * 1024, banks=2, subbanks=4, narrow_ports=5)
    )


def counters(config):
    """Return the counters of a cluster."""
    return Counters(ControlConfig.of(config).counters)


async def read_counter(ctx, dut, address, write=0):
    """Access a register; return its data and whether it was refused."""
    ctx.set(dut.registers.request.payload, {"address": address, "write": write, "data": 0})
    ctx.set(dut.registers.request.valid, 1)
    assert ctx.get(dut.registers.request.ready)
    await ctx.tick()
    ctx.set(dut.registers.request.valid, 0)
    assert ctx.get(dut.registers.response.valid)
    response = ctx.get(dut.registers.response.payload)
    return response.data, response.error


@pytest.mark.parametrize(
    "config", [TINY, lanes_config(), PRESETS["tiny"]], ids=["tiny_matrix", "lanes", "rows"]
)
@pytest.mark.quick(1)
def test_counters_sum_their_events(config):
    dut = require_no_loop(counters(config))
    table = counter_table(config)
    rng = random.Random(5)
    sums = {row.name: 0 for row in table}

    async def bench(ctx):
        for _ in range(200):
            events = {}
            for row in table:
                most = (1 << row.increment_width) - 1
                events[row.name] = rng.choice([0, most, rng.randint(0, most)])
                sums[row.name] += row.scale * events[row.name]
            ctx.set(dut.events, events)
            await ctx.tick()
        ctx.set(dut.events, dict.fromkeys(sums, 0))
        await ctx.tick()
        for row in table:
            assert await read_counter(ctx, dut, row.address) == (sums[row.name], 0), row.name
            assert await read_counter(ctx, dut, row.address + 4) == (0, 0)

    simulate(dut, bench)


def test_an_event_is_seen_after_two_cycles():
    dut = require_no_loop(counters(TINY))
    row = next(row for row in counter_table(TINY) if row.scale == 4)

    async def bench(ctx):
        ctx.set(dut.events[row.name], 1)
        assert [(await read_counter(ctx, dut, row.address))[0] for _ in range(4)] == [0, 0, 4, 8]

    simulate(dut, bench)


def test_the_high_word_is_latched_with_the_low_word():
    dut = require_no_loop(counters(TINY))
    row = next(row for row in counter_table(TINY) if row.scale == 4)
    other = counter_table(TINY)[0]

    async def bench(ctx):
        full = (1 << row.width) - 1
        ctx.set(dut.counted[row.name], full)
        low, _ = await read_counter(ctx, dut, row.address)
        ctx.set(dut.counted[row.name], 0)
        assert (await read_counter(ctx, dut, other.address + 4))[0] << 32 | low == 4 * full
        ctx.set(dut.counted[row.name], full)
        ctx.set(dut.events[row.name], 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.counted[row.name]) == 0  # wraps

    simulate(dut, bench)


def test_writes_and_unknown_addresses_are_refused():
    dut = require_no_loop(counters(TINY))
    table = counter_table(TINY)

    async def bench(ctx):
        for address in (0, table[-1].address + 8, COUNTERS_END - 4):
            assert (await read_counter(ctx, dut, address))[1]
        assert (await read_counter(ctx, dut, table[0].address, write=1))[1]
        assert not (await read_counter(ctx, dut, table[0].address))[1]

    simulate(dut, bench)


@pytest.mark.parametrize("config", [*PRESETS.values(), lanes_config()])
def test_table_has_distinct_names_and_addresses_and_known_events(config):
    table = counter_table(config)
    assert len({row.name for row in table}) == len(table)
    assert [row.address for row in table] == sorted({row.address for row in table})
    assert table[-1].address + 8 <= COUNTERS_END
    known = {
        **dict.fromkeys((f"matrix{n or ''}" for n in range(4)), systolic_unit_events),
        "shared": shared_events(cluster_ports(config)),
        "l2": data.StructLayout(dict.fromkeys(EVENTS, 1)),
        "tensor": event_layout(),
    }
    if config.dma is not None:
        known["dma"] = dma_events(DmaBlockConfig.of(config))
    if config.cores:
        known |= dict.fromkeys(("l1i", "l1d"), memory_unit_events(MemoryUnitConfig.of(config)))
    for row in table:
        several = dict.fromkeys(("l1i", "l1d", "tensor"), config.cores)
        several["l2"] = config.axi.masters
        times = row.times([Signal(known[row.unit])] * several.get(row.unit, 1))
        assert len(times) == row.increment_width, row.name


def test_a_cluster_without_matrix_unit_counts_nothing_of_it():
    table = counter_table(dataclasses.replace(TINY, units=()))
    assert {row.unit for row in table} == {"shared", "dma"}
