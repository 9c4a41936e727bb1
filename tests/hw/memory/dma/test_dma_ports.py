"""Tests of `hw.memory.dma.dma` with several ports: memories, order within and between ports."""

import random
from dataclasses import replace

import pytest
from amaranth.back import rtlil

from spica.hw.config import DmaBlockConfig, DmaConfig, SystolicConfig
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.memory.dma.dma import Dma
from spica.hw.memory.dma.load_order import LoadOrder
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.dma.dma import DmaDescriptor
from spica.synth.measure import measure
from support.memory.dma_bench import DmaBench
from support.memory.dma_descriptors import (
    SOURCE,
    TARGET,
    check_descriptors,
    directions_of,
    random_descriptors,
)

LOAD, STORE, DRAIN, SPILL, FILL, REFILL = Direction
HETERO = PRESETS["tiny_hetero"]
WIDE = SystolicConfig(rows=2, columns=8, operand="fp16", accumulator_bytes=1024, tile=(8, 16, 8))
FOUR = replace(
    HETERO,
    units=(
        *HETERO.units,
        replace(WIDE, load_d=True),
        replace(HETERO.units[1], load_d=True),
    ),
    dma=DmaConfig(contexts=3, queue=2),
)


@pytest.fixture(scope="module", autouse=True)
def convert():
    """Convert first: a combinational loop would hang the simulator."""
    for config in (HETERO, FOUR):
        rtlil.convert(Dma(DmaBlockConfig.of(config)), name="dma", emit_src=False)


def descriptors_of(config, rng, directions, count):
    """Return random jobs for each unit."""
    units = range(len(config.units))
    return [random_descriptors(config, rng, directions, count, number) for number in units]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("directions", [[DRAIN, SPILL], directions_of(HETERO)])
@pytest.mark.full
def test_random_jobs_of_two_units(directions, stall):
    descriptors = descriptors_of(HETERO, random.Random(len(directions)), directions, 12)
    check_descriptors(HETERO, *descriptors, seed=2, stall=stall, latency=20, jitter=10)


@pytest.mark.full
def test_random_jobs_of_four_units():
    descriptors = descriptors_of(FOUR, random.Random(5), directions_of(FOUR), 8)
    check_descriptors(FOUR, *descriptors, seed=5, stall=0.2, latency=9, jitter=20)


@pytest.mark.slow
@pytest.mark.parametrize("config", [HETERO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("seed", range(6))
def test_many_random_jobs(config, seed):
    rng = random.Random(seed)
    descriptors = descriptors_of(config, rng, directions_of(config), 40)
    stall, latency = rng.choice([0.0, 0.3, 0.6]), rng.choice([1, 10, 100])
    check_descriptors(config, *descriptors, seed=seed, stall=stall, latency=latency, jitter=30)


@pytest.mark.full
def test_each_port_counts_its_own_jobs_and_errors():
    bench = DmaBench(HETERO, latency=10)
    bench.dram.write(SOURCE, bytes(range(100)))
    load = DmaDescriptor(direction=LOAD, dram=SOURCE, bytes=50, local=64)
    store = DmaDescriptor(direction=STORE, dram=TARGET, bytes=50, local=64)

    async def host(ctx):
        for _ in range(2):
            await bench.start(ctx, load, port=1)
        await bench.wait_for(ctx, "loads_done", 2, port=1)
        assert await bench.access(ctx, "loads_done", port=0) == (0, 0)
        await bench.start(ctx, store, port=0)
        await bench.wait_for(ctx, "stores_done", 1, port=0)
        assert await bench.access(ctx, "stores_done", port=1) == (0, 0)
        assert await bench.access(ctx, "running", port=1) == (0, 0)
        await bench.start(ctx, replace(store, dram=0), port=1)
        await bench.wait_for(ctx, "running", 0, port=1)
        assert ctx.get(bench.dut.error)
        errors = [await bench.access(ctx, "error", port=port) for port in (0, 1)]
        assert errors == [(0, 0), (2, 0)]
        assert await bench.access(ctx, "error", 0, port=1) == (0, 0)
        assert not ctx.get(bench.dut.error)

    bench.run_host(host)
    assert bench.dram.read(TARGET, 50) == bytes(range(50))


def loads(first: int, count: int, size: int) -> list[DmaDescriptor]:
    """Return `count` loads of `size` bytes to separate addresses."""
    return [
        DmaDescriptor(direction=LOAD, dram=SOURCE + n * size, local=n * size, bytes=size)
        for n in range(first, first + count)
    ]


def completions(config, descriptors_of_units, **dram) -> list[list[int]]:
    """Return the cycles in which the jobs of each unit complete."""
    bench = DmaBench(config, **dram)
    cycles: list[list[int]] = [[] for _ in bench.units]
    for unit, seen in zip(bench.units, cycles, strict=True):
        step = unit.step

        def recorded(values, step=step, seen=seen):
            if values[2]:
                seen.append(bench.cycle)
            return step(values)

        unit.step = recorded
    for number, descriptors in enumerate(descriptors_of_units):
        for descriptor in descriptors:
            if descriptor.direction in (DRAIN, SPILL):
                size = config.units[number].drain_bytes
                bench.units[number].beats.extend(
                    bytes(size) for _ in range(descriptor.bytes // size)
                )
    bench.run_descriptors(*descriptors_of_units, timeout=20_000)
    return cycles


@pytest.mark.full
def test_ports_share_the_loads_job_by_job():
    """Two ports that always have a load are served alike, whichever requested first."""
    cycles = completions(HETERO, [loads(0, 12, 512), loads(12, 12, 512)], latency=20)
    for k in range(12):
        assert sum(cycle < cycles[1][k] for cycle in cycles[0]) in range(k, k + 3)


@pytest.mark.full
def test_a_short_load_waits_for_no_queue_of_another_port():
    """It starts after the running load, and ends while another port's earlier load continues."""
    alone = completions(HETERO, [[], loads(20, 1, 16)], latency=20)[1][0]
    beside = completions(HETERO, [loads(0, 4, 2048), loads(200, 3, 16)], latency=20)
    assert beside[1][0] < alone + 30
    assert beside[1][2] < beside[0][1]


@pytest.mark.full
def test_a_drain_waits_for_no_loads_of_another_port():
    """Reads that are taken late fill one port; results of the other unit leave undelayed."""
    drain = DmaDescriptor(direction=DRAIN, dram=TARGET, bytes=64, block=4)
    alone = completions(HETERO, [[], [drain]], latency=5)[1][0]
    beside = completions(HETERO, [loads(0, 10, 1024), [drain]], latency=5, slow="ar")
    assert beside[1][0] <= alone + 6


@pytest.mark.full
def test_load_order():
    """Against a list: loads of one port complete in the order in which they started."""
    config = FOUR
    dut = LoadOrder(DmaBlockConfig.of(config))
    rng = random.Random(1)

    async def bench(ctx):
        under_way: list[tuple[int, int]] = []  # (context, port), in the order of their start
        done: set[int] = set()
        reported = 0
        for _ in range(600):
            active = sum(1 << context for context, _ in under_way)
            done |= {context for context, _ in under_way if rng.random() < 0.3}
            ctx.set(dut.active, active)
            ctx.set(dut.done, sum(1 << context for context in done))
            begins, accepted, port = rng.random() < 0.7, rng.random() < 0.8, rng.randrange(4)
            ctx.set(dut.begins, begins)
            ctx.set(dut.accept, accepted)
            ctx.set(dut.port, port)
            chosen, retires = ctx.get(dut.chosen), ctx.get(dut.retires)
            first_of_port = [
                context
                for n, (context, its) in enumerate(under_way)
                if its not in [other for _, other in under_way[:n]] and context in done
            ]
            assert retires == (1 << min(first_of_port) if first_of_port else 0)
            free = [k for k in range(3) if not active >> k & 1]
            assert chosen == (1 << free[0] if free else 0)
            await ctx.tick()
            if begins and chosen:
                under_way.append((free[0], port))
            if accepted and retires:
                reported += 1
                done.remove(min(first_of_port))
                under_way = [pair for pair in under_way if pair[0] != min(first_of_port)]
        assert reported > 100

    require_no_loop(dut, name="load_order", emit_src=False)
    simulate(dut, bench)


@pytest.mark.parametrize("config", [HETERO, FOUR], ids=["two", "four"])
@pytest.mark.full
def test_depth(config):
    assert measure(Dma(DmaBlockConfig.of(config)), "dma").depth <= 60
