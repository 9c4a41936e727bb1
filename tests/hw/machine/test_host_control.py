"""Tests of `hw.machine.host_control` and `hw.lib.register_bridge` over AXI4-Lite."""

import dataclasses
import random
from unittest.mock import ANY

import pytest

from spica.hw.isa.memory_map import (
    CONTROL,
    COUNTERS_BASE,
    DMA_BASE,
    IDENTITY,
    MAP_VERSION,
    MATRIX_BASE,
    unit_bases,
)
from spica.hw.machine.counters import counter_table
from spica.hw.machine.host_control import Control, ControlConfig, ControlRegisters
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from support.cluster.axi_lite_master import read, send, write

TINY = PRESETS["tiny_matrix"]
OKAY, SLAVE_ERROR = 0, 2


def unit(bus, storage, finished, *, rng, stall, refused):
    """Return a testbench of a unit with registers that stalls requests at random.

    `storage` holds its registers; writes stall while ``storage["full"]`` is set.
    """

    async def serve(ctx):
        answered = False
        before = None
        while not finished:
            ctx.set(bus.request.ready, 0)
            held = storage.get("full") and ctx.get(bus.request.payload.write)
            ready = not held and rng.random() >= stall
            ctx.set(bus.request.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(bus.request.valid, bus.request.payload)
            request = (payload.address, payload.write, payload.data)
            assert not (valid and answered), "an access while another is under way"
            assert before is None or (valid and before == request), "a request changed"
            before = request if valid and not ready else None
            answered = bool(valid and ready)
            if answered:
                assert payload.address % 4 == 0
                error = payload.address in refused
                if payload.write and not error:
                    storage[payload.address] = payload.data
                value = 0 if payload.write else storage.get(payload.address, 0)
                ctx.set(bus.response.payload, {"data": value, "error": error})
            ctx.set(bus.response.valid, answered)

    return serve


def run(dut, *benches, storages=None, stall=0.0, refused=()):
    """Run `benches` together with units on the register buses."""
    storages = storages or {"dma": {}, "matrix": {}}
    ports = dict(zip(dut.bases, dut.units, strict=True)) if isinstance(dut, Control) else {}
    finished = []
    units = [
        unit(bus, storage, finished, rng=random.Random(n), stall=stall, refused=refused)
        for n, (name, storage) in enumerate(storages.items())
        if (bus := ports.get(name)) is not None
    ]
    running = list(benches)

    def ending(bench):
        async def run_and_record(ctx):
            await bench(ctx)
            running.remove(bench)
            finished.extend([] if running else [True])

        return run_and_record

    simulate(dut, *map(ending, benches), *units)


def test_control_registers():
    dut = require_no_loop(Control(ControlConfig.of(TINY)))

    async def bench(ctx):
        bus = dut.s_axil
        assert await read(ctx, bus, CONTROL["identity"].offset) == (IDENTITY, OKAY)
        assert IDENTITY.to_bytes(4, "big") == b"SPIC"
        assert await read(ctx, bus, CONTROL["version"].offset) == (MAP_VERSION, OKAY)
        for bit, name in enumerate(("dma_busy", "matrix_busy", "error")):
            ctx.set(getattr(dut, name), 1)
            assert await read(ctx, bus, CONTROL["status"].offset) == (1 << bit, OKAY)
            ctx.set(getattr(dut, name), 0)
        assert await read(ctx, bus, CONTROL["status"].offset) == (0, OKAY)

    run(dut, bench)


def test_cycle_counter_counts_and_latches():
    dut = require_no_loop(Control(ControlConfig.of(TINY)))
    low, high = (CONTROL[name].offset for name in ("cycle_low", "cycle_high"))

    async def bench(ctx):
        first, _ = await read(ctx, dut.s_axil, low)
        for cycles in (5, 100):
            await ctx.tick().repeat(cycles)
            second, _ = await read(ctx, dut.s_axil, low)
            # Every read takes the same time, so the difference is that of the cycles.
            assert second - first == cycles + 5
            first = second
        assert await read(ctx, dut.s_axil, high) == (0, OKAY)

    run(dut, bench)


def test_cycle_counter_carries():
    dut = require_no_loop(ControlRegisters())
    low, high = (CONTROL[name].offset for name in ("cycle_low", "cycle_high"))

    async def bench(ctx):
        async def read_word(address):
            ctx.set(dut.registers.request.payload, {"address": address, "write": 0, "data": 0})
            ctx.set(dut.registers.request.valid, 1)
            await ctx.tick()
            ctx.set(dut.registers.request.valid, 0)
            return ctx.get(dut.registers.response.payload.data)

        ctx.set(dut.cycle.low, 0xFFFF_FFF6)
        times = [await read_word(low) | await read_word(high) << 32 for _ in range(10)]
        assert times == list(range(0xFFFF_FFF6, 0xFFFF_FFF6 + 20, 2))

    simulate(dut, bench)


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.quick(1)
def test_units_are_reached_by_write_and_read_side_by_side(stall):
    dut = require_no_loop(Control(ControlConfig.of(TINY)))
    storages: dict = {"dma": {}, "matrix": {}}
    bases = {"dma": DMA_BASE, "matrix": MATRIX_BASE}
    words = {
        bases[name] + 4 * k: random.Random(k).choice([0, 0xFFFF_FFFF, k * 0x0101_0101])
        for name in bases
        for k in range(64)
    }
    written = []

    async def writer(ctx):
        rng = random.Random(3)
        for address in rng.sample(sorted(words), len(words)):
            order = rng.choice([("aw", "w"), ("w", "aw")])
            result = await write(
                ctx, dut.s_axil, address, words[address], order=order, rng=rng, stall=stall
            )
            assert result == OKAY
            written.append(address)

    async def reader(ctx):
        rng = random.Random(4)
        while len(written) < len(words):
            done = list(written)
            address = rng.choice(done or sorted(words))
            value, result = await read(ctx, dut.s_axil, address, rng=rng, stall=stall)
            assert result == OKAY
            assert value == words[address] or address not in done
        for address, word in words.items():
            value, _ = await read(ctx, dut.s_axil, address + rng.randrange(4))
            assert value == word

    run(dut, writer, reader, storages=storages, stall=stall)
    assert storages == {
        name: {
            address - base: word for address, word in words.items() if address - base in range(256)
        }
        for name, base in bases.items()
    }


def test_a_held_write_holds_only_its_unit():
    dut = require_no_loop(Control(ControlConfig.of(TINY)))
    storages = {"dma": {"full": True, 0: 7}, "matrix": {4: 9}}
    ended = []

    async def writer(ctx):
        assert await write(ctx, dut.s_axil, DMA_BASE, 1) == OKAY
        ended.append("write")

    async def reader(ctx):
        await ctx.tick().repeat(10)
        assert await read(ctx, dut.s_axil, 0) == (IDENTITY, OKAY)
        assert await read(ctx, dut.s_axil, MATRIX_BASE + 4) == (9, OKAY)
        assert await read(ctx, dut.s_axil, 0x2000) == (ANY, SLAVE_ERROR)
        assert not ended
        await send(ctx, dut.s_axil, "ar", {"addr": DMA_BASE}, random.Random(0), 0)
        await ctx.tick().repeat(20)
        assert not ctx.get(dut.s_axil.rvalid)
        storages["dma"]["full"] = False
        ctx.set(dut.s_axil.rready, 1)
        (data,) = await ctx.tick().sample(dut.s_axil.rdata).until(dut.s_axil.rvalid)
        assert data == 1
        assert ended == ["write"]

    run(dut, writer, reader, storages=storages)


@pytest.mark.parametrize("order", [("aw", "w"), ("w", "aw")])
def test_refused_accesses(order):
    dut = require_no_loop(Control(ControlConfig.of(TINY)))
    unmapped = [0x2000, 0x0F00 + DMA_BASE, DMA_BASE + 0x100, MATRIX_BASE + 0x100, 0xFFFC]
    read_only = [register.offset for register in CONTROL.values() if register.access == "r"]
    read_only.append(COUNTERS_BASE)
    storages = {"dma": {}, "matrix": {}}

    async def bench(ctx):
        bus = dut.s_axil
        for address in [*unmapped, *read_only, DMA_BASE + 0x40, 0x20]:
            assert await write(ctx, bus, address, 1, order=order) == SLAVE_ERROR, hex(address)
        for address in [*unmapped, DMA_BASE + 0x40, 0x20, 0xFF8]:
            assert await read(ctx, bus, address) == (ANY, SLAVE_ERROR), hex(address)
        for strobe in (0, 1, 7, 14):
            assert await write(ctx, bus, DMA_BASE, 1, strobe=strobe, order=order) == SLAVE_ERROR
        assert await write(ctx, bus, DMA_BASE, 1, order=order) == OKAY
        assert await read(ctx, bus, 0) == (IDENTITY, OKAY)

    run(dut, bench, storages=storages, refused=(0x40,))
    assert storages == {"dma": {0: 1}, "matrix": {}}


def test_responses_stay_until_taken():
    dut = require_no_loop(Control(ControlConfig.of(TINY)))

    async def bench(ctx):
        bus = dut.s_axil
        await send(ctx, bus, "ar", {"addr": 0}, random.Random(0), 0)
        await send(ctx, bus, "aw", {"addr": 0}, random.Random(0), 0)
        await send(ctx, bus, "w", {"data": 0, "strb": 15}, random.Random(0), 0)
        await ctx.tick().repeat(10)
        for _ in range(10):
            assert (ctx.get(bus.rvalid), ctx.get(bus.rdata), ctx.get(bus.rresp)) == (1, IDENTITY, 0)
            assert (ctx.get(bus.bvalid), ctx.get(bus.bresp)) == (1, SLAVE_ERROR)
            assert not ctx.get(bus.awready | bus.wready | bus.arready)
            await ctx.tick()

    run(dut, bench)


@pytest.mark.parametrize(("address", "latency"), [(0, 4), (DMA_BASE, 4), (0x2000, 2)])
@pytest.mark.quick(1)
def test_latency_of_accesses(address, latency):
    dut = require_no_loop(Control(ControlConfig.of(TINY)))

    async def cycles_until(ctx, valid):
        cycles = 1
        while not ctx.get(valid):
            await ctx.tick()
            cycles += 1
        return cycles

    async def bench(ctx):
        bus = dut.s_axil
        await send(ctx, bus, "ar", {"addr": address}, random.Random(0), 0)
        assert await cycles_until(ctx, bus.rvalid) == latency
        await send(ctx, bus, "w", {"data": 0, "strb": 15}, random.Random(0), 0)
        await send(ctx, bus, "aw", {"addr": address}, random.Random(0), 0)
        assert await cycles_until(ctx, bus.bvalid) == latency

    run(dut, bench)


def test_counters_are_reached():
    dut = require_no_loop(Control(ControlConfig.of(TINY)))
    table = counter_table(TINY)

    async def bench(ctx):
        ctx.set(dut.events, {row.name: 1 for row in table})
        await ctx.tick()
        ctx.set(dut.events, {row.name: 0 for row in table})
        for row in table:
            assert await read(ctx, dut.s_axil, row.address) == (row.scale, OKAY)
            assert await read(ctx, dut.s_axil, row.address + 4) == (0, OKAY)
        assert await read(ctx, dut.s_axil, table[-1].address + 8) == (ANY, SLAVE_ERROR)

    run(dut, bench)


@pytest.mark.parametrize(
    ("config", "absent"),
    [
        (dataclasses.replace(TINY, units=()), [MATRIX_BASE]),
        (dataclasses.replace(PRESETS["tiny"], units=(), dma=None), [DMA_BASE, MATRIX_BASE]),
    ],
)
def test_units_that_are_absent_have_no_registers(config, absent):
    dut = require_no_loop(Control(ControlConfig.of(config)))

    async def bench(ctx):
        for base in absent:
            assert await read(ctx, dut.s_axil, base) == (ANY, SLAVE_ERROR)

    run(dut, bench)


def test_each_of_several_units_has_registers_of_its_own():
    config = PRESETS["tiny_hetero"]
    dut = require_no_loop(Control(ControlConfig.of(config)))
    bases = unit_bases(len(config.units))
    storages: dict = {unit: {} for unit in bases}

    async def bench(ctx):
        for number, base in enumerate(bases.values()):
            assert await write(ctx, dut.s_axil, base + 4, 10 + number) == OKAY
        for number, base in enumerate(bases.values()):
            assert await read(ctx, dut.s_axil, base + 4) == (10 + number, OKAY)
        for base in (DMA_BASE, MATRIX_BASE):
            assert await read(ctx, dut.s_axil, base + 0x200) == (ANY, SLAVE_ERROR)

    run(dut, bench, storages=storages)
    assert [storage[4] for storage in storages.values()] == [10, 11, 12, 13]
