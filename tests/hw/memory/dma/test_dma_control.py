"""Tests of `hw.memory.dma.dma`: registers, refused jobs, AXI errors, latency, emission."""

import random
from dataclasses import asdict, replace

import pytest

from spica.hw.config import DmaBlockConfig, DmaConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.memory.dma.dma import Dma
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import simulate
from spica.sim.golden.memory.dma.dma import DmaDescriptor, drain_beats, is_refused
from support.memory.dma_bench import DmaBench, words_of
from support.memory.dma_descriptors import SOURCE, TARGET, check_descriptors

LOAD, STORE, DRAIN, SPILL = Direction.LOAD, Direction.STORE, Direction.DRAIN, Direction.SPILL
TINY = PRESETS["tiny_matrix"]
TINY_DMA = DmaBlockConfig.of(TINY)
MATRIX = PRESETS["matrix"]


def test_largest_pitches_and_the_ends_of_memory():
    size = TINY.shared.size
    load = DmaDescriptor(direction=LOAD, dram=DRAM_BASE, dram_pitch=0x7EFF_FFFF, rows=2, bytes=1)
    loads = [
        replace(load, local=size - 1001, local_pitch=1000),
        replace(
            load,
            dram=DRAM_END - 64,
            dram_pitch=63,
            local=100,
            local_pitch=2000,
            fill_rows=4,
            fill_bytes=30,
        ),
        replace(load, dram_pitch=0, rows=9, bytes=9, local=9000, local_pitch=9),
    ]
    writes = [
        DmaDescriptor(direction=STORE, dram=DRAM_END - 77, local=size - 77, bytes=77),
        DmaDescriptor(
            direction=DRAIN,
            dram=DRAM_END - 0x100_0000 - 88,
            dram_pitch=0x100_0000,
            rows=2,
            bytes=8,
            block=8,
        ),
        DmaDescriptor(direction=STORE, dram=DRAM_BASE, dram_pitch=0x7EFF_FF00, rows=2, bytes=1),
    ]
    spill = DmaDescriptor(
        direction=SPILL, local=size - 3000, local_pitch=2992, rows=2, bytes=8, block=8
    )
    for descriptors in (loads, writes, [spill]):
        assert not any(is_refused(TINY_DMA, descriptor) for descriptor in descriptors)
        check_descriptors(TINY, descriptors, seed=0, stall=0.0, latency=3)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.quick(1)
def test_loads_in_progress_are_shown_from_their_start_to_their_end(gated):
    load = DmaDescriptor(direction=LOAD, dram=SOURCE, rows=4, dram_pitch=64, bytes=64)
    drain = DmaDescriptor(direction=DRAIN, dram=TARGET, rows=4, dram_pitch=8, bytes=8, block=8)
    cycles = []
    for descriptors in ([load, load], [drain], [load, drain]):
        bench = DmaBench(TINY, seed=1, latency=40, gated=gated)
        beats = [bytes(TINY.units[0].drain_bytes)] * drain.rows
        bench.beats.extend(beats if drain in descriptors else [])
        bench.run_descriptors(descriptors)
        shown = [cycle for cycle, loading in enumerate(bench.loading) if loading]
        assert shown == list(range(shown[0], shown[-1] + 1)) if load in descriptors else not shown
        cycles.append(len(shown))
    assert cycles[0] > 40 and cycles[2] > 40


def test_refused_jobs_touch_nothing():
    size = TINY.shared.size
    good = DmaDescriptor(direction=LOAD, dram=SOURCE, rows=2, dram_pitch=8, bytes=8, local_pitch=8)
    descriptors = [
        replace(good, rows=0),
        replace(good, bytes=0),
        replace(good, direction=STORE, dram=DRAM_END - 15),
        replace(good, dram=DRAM_BASE - 1),
        good,
        replace(good, local=size - 15),
        replace(good, fill_bytes=9, local=size - 16),
        replace(good, fill_rows=3, local=size - 16),
        replace(good, direction=STORE, local=size - 1),
        replace(good, direction=STORE, dram_pitch=0xFFFF_FFFF, rows=65535),
        replace(good, direction=DRAIN, dram=DRAM_END - 15, block=8),
        replace(good, direction=DRAIN, dram=TARGET, block=0),
        replace(good, direction=SPILL, local=size - 15, block=8),
        replace(good, direction=SPILL, dram=0, local=size - 16, block=8),
    ]
    expected = [descriptor is not good and k != 13 for k, descriptor in enumerate(descriptors)]
    assert [is_refused(TINY_DMA, descriptor) for descriptor in descriptors] == expected
    check_descriptors(TINY, descriptors, seed=0, stall=0.2, latency=3)


@pytest.mark.parametrize("direction", [LOAD, STORE, DRAIN])
def test_axi_errors_are_reported_and_the_next_job_is_done(direction):
    bad = DmaDescriptor(
        direction=direction,
        dram=SOURCE,
        dram_pitch=200,
        rows=4,
        bytes=100,
        local_pitch=100,
        block=8,
        tag=3,
    )
    good = replace(bad, dram=SOURCE + 0x10000, local=2000, tag=4)
    failing = SOURCE + 3 * 200 + 64
    bench = DmaBench(TINY, latency=5, response=lambda at, _: 2 if at // 64 == failing // 64 else 0)
    if direction == DRAIN:
        bench.beats.extend(bytes([k % 255 + 1]) * 8 for k in range(2 * drain_beats(TINY_DMA, bad)))
    bench.run_descriptors([bad, good])
    assert [(done["tag"], done["error"]) for done in bench.done] == [(1, 1), (2, 0)]


def test_host_registers():
    bench = DmaBench(TINY, latency=10)
    bench.dram.write(SOURCE, bytes(range(200)))
    load = DmaDescriptor(
        direction=LOAD,
        dram=SOURCE + 1,
        dram_pitch=10,
        rows=3,
        bytes=5,
        local=64,
        local_pitch=8,
        fill_bytes=8,
        fill_rows=4,
    )
    store = DmaDescriptor(
        direction=STORE, dram=TARGET, dram_pitch=8, rows=4, bytes=8, local=64, local_pitch=8
    )

    async def host(ctx):
        await bench.start(ctx, load)
        assert await bench.access(ctx, "running") == (1, 0)
        await bench.wait_for(ctx, "loads_done", 1)
        await bench.start(ctx, store)
        await bench.wait_for(ctx, "stores_done", 1)
        for name, value in words_of(store).items():
            if name != "start":
                assert await bench.access(ctx, name) == (value, 0)
        assert await bench.access(ctx, "running") == (0, 0)
        assert await bench.access(ctx, "error") == (0, 0)
        await bench.start(ctx, replace(store, local=TINY.shared.size * 4))
        await bench.wait_for(ctx, "stores_done", 2)
        assert await bench.access(ctx, "error") == (2, 0)
        assert await bench.access(ctx, "error", 0) == (0, 0)
        assert await bench.access(ctx, "error") == (0, 0)
        for refused in [("start",), ("running", 1), ("start", 2), (0xF0,), (0xF0, 1)]:
            assert (await bench.access(ctx, *refused))[1], refused
        assert await bench.access(ctx, "running") == (0, 0)

    bench.run_host(host)
    expected = b"".join(bytes(range(1 + 10 * i, 6 + 10 * i)) + bytes(3) for i in range(3))
    assert bench.dram.read(TARGET, 33) == expected + bytes(9)


@pytest.mark.full
def test_start_is_held_while_the_queue_is_full_and_nothing_is_lost():
    config = replace(TINY, units=(), dma=DmaConfig(queue=1, contexts=1))
    bench = DmaBench(config, latency=200)
    bench.dram.write(SOURCE, random.Random(0).randbytes(6400))

    async def host(ctx):
        for k in range(8):
            await bench.start(
                ctx, DmaDescriptor(direction=LOAD, dram=SOURCE + 640 * k, bytes=640, local=640 * k)
            )
        assert (await bench.access(ctx, "loads_done"))[0] >= 4
        await bench.wait_for(ctx, "loads_done", 8)

    bench.run_host(host)
    assert bench.local.read(0, 8 * 640) == bench.dram.read(SOURCE, 8 * 640)


def test_an_idle_dma_is_not_busy_and_has_no_events():
    dut = Dma(TINY_DMA)
    seen = []

    async def bench(ctx):
        ctx.set(dut.axi[0].awready, 1)
        for valid in (0, 1):
            ctx.set(dut.drain.valid, valid)
            seen.append(ctx.get(dut.busy))
            assert ctx.get(dut.events.as_value()) == 0
            await ctx.tick()

    simulate(dut, bench)
    assert seen == [0, 1]


def test_first_burst_goes_out_after_the_check():
    """Check 2 + 3 bits of rows - 1, queue 1, walker 1, segment queue 1, channel 1 cycle."""
    descriptor = DmaDescriptor(
        direction=LOAD, dram=SOURCE, dram_pitch=64, rows=5, bytes=64, local_pitch=64
    )
    dut = Dma(TINY_DMA)

    async def bench(ctx):
        ctx.set(dut.descriptor[0].payload, asdict(descriptor))
        ctx.set(dut.descriptor[0].valid, 1)
        await ctx.tick()
        ctx.set(dut.descriptor[0].valid, 0)
        cycles = 0
        while not ctx.get(dut.axi[0].arvalid):
            await ctx.tick()
            cycles += 1
        assert cycles == 9

    simulate(dut, bench)
