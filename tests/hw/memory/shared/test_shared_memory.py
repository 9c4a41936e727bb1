"""Tests of `shared_memory` against its golden model: values, latency, parallelism, fairness."""

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from spica.hw.config import PRESETS, SharedMemoryConfig
from spica.hw.memory.shared.shared_memory import (
    SharedMemory,
    SharedMemoryPorts,
    cluster_ports,
    port_names,
)
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.memory.shared.shared_memory import cycles_of_wide_accesses
from spica.synth.measure import measure
from support.memory.shared_memory_traffic import Traffic

SMALL = SharedMemoryConfig(size=256, banks=2, subbanks=4)
MIXED = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=256, banks=2, subbanks=4, narrow_ports=3),
    read_sizes=(16, 8, 4),
    write_sizes=(16, 8),
)
ROWS = replace(MIXED, row_ports=2, row_bytes=8)


def convert(dut):
    """Convert `dut`, so that a combinational loop is an error instead of a hanging simulation."""
    require_no_loop(dut)
    return dut


def wide(memory, reads, writes):
    """Return ports of whole lines."""
    line = memory.line_bytes
    return SharedMemoryPorts(
        memory=memory, read_sizes=(line,) * reads, write_sizes=(line,) * writes
    )


def run_traffic(config, *, seed=1, cycles=300, stall=0.2, stalls=None, addresses=None):
    """Run random traffic on a memory of `config`; return its statistics."""
    stalls = dict.fromkeys(("read", "write", "narrow", "row"), stall) | (stalls or {})
    addresses = addresses or range(config.memory.size)
    dut = convert(SharedMemory(config))
    traffic = Traffic(dut, random.Random(seed), stalls=stalls, addresses=addresses)
    simulate(dut, partial(traffic.run, cycles=cycles))
    return traffic


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.parametrize("span", [32, 256])
@pytest.mark.parametrize("config", [MIXED, ROWS], ids=["lanes", "rows"])
@pytest.mark.quick(1)
def test_mixed_sizes_match_golden_model(config, stall, span):
    traffic = run_traffic(config, cycles=200, stall=stall, addresses=range(span))
    assert traffic.accesses > (400 if span == 256 else 200)


@pytest.mark.parametrize("latency", [1, 2, 3])
@pytest.mark.quick(1)
def test_response_comes_after_the_stated_latency(latency):
    memory = SharedMemoryConfig(size=128, banks=2, subbanks=2, read_latency=latency, narrow_ports=2)
    config = SharedMemoryPorts(
        memory=memory, read_sizes=(8, 4), write_sizes=(8,), row_ports=1, row_bytes=8
    )
    assert run_traffic(config, seed=latency, cycles=100, stall=0.3).accesses > 100


@pytest.mark.parametrize(
    "config",
    [
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=1, narrow_ports=1),
            read_sizes=(),
            write_sizes=(),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=1),
            read_sizes=(4,),
            write_sizes=(4,),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=64, banks=8, subbanks=1, narrow_ports=5),
            read_sizes=(4,),
            write_sizes=(4,),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=64, banks=1, subbanks=8, narrow_ports=2),
            read_sizes=(32, 4),
            write_sizes=(),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=2, narrow_ports=1),
            read_sizes=(),
            write_sizes=(),
            row_ports=2,
            row_bytes=4,
        ),
        cluster_ports(PRESETS["tiny_matrix"]),
    ],
    ids=[
        "narrow only",
        "one word",
        "banks of a word",
        "narrow writers",
        "rows of a word",
        "tiny_matrix",
    ],
)
@pytest.mark.quick(2)
def test_shapes_match_golden_model(config):
    addresses = range(min(64, config.memory.size))
    assert run_traffic(config, cycles=80, addresses=addresses).accesses > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_long_traffic_matches_golden_model(seed):
    rng = random.Random(seed)
    line = rng.choice([1, 2, 4, 8])
    sizes = [4 << n for n in range(line.bit_length())]
    memory = SharedMemoryConfig(
        size=512, banks=rng.choice([1, 2, 4]), subbanks=line, narrow_ports=rng.randint(1, 6)
    )
    config = SharedMemoryPorts(
        memory=memory,
        read_sizes=tuple(rng.choices(sizes, k=rng.randint(1, 4))),
        write_sizes=tuple(rng.choices(sizes, k=rng.randint(1, 3))),
        row_ports=rng.randint(1, 4),
        row_bytes=rng.choice(sizes),
    )
    span = range(rng.choice([16, 64, 512]))
    assert run_traffic(config, seed=seed, cycles=2000, stall=0.3, addresses=span).accesses > 2000


def stream_cycles(config, reads, writes=()):
    """Return the cycle in which each port's last access is accepted, for concurrent streams."""
    dut = convert(SharedMemory(config))
    ends = {}

    async def drive(ctx, name, payloads):
        request = getattr(dut, name).request
        cycle = 0
        ctx.set(request.valid, 1)
        for payload in payloads:
            ctx.set(request.payload, payload)
            accepted = False
            while not accepted:
                _, _, accepted = await ctx.tick().sample(request.ready)
                cycle += 1
        ctx.set(request.valid, 0)
        ends[name] = cycle

    full = (1 << config.memory.line_bytes) - 1
    jobs = {f"read_{i}": list(stream) for i, stream in enumerate(reads)}
    jobs |= {
        f"write_{i}": [{"address": address, "data": address, "mask": full} for address in stream]
        for i, stream in enumerate(writes)
    }
    simulate(dut, *[partial(drive, name=name, payloads=jobs[name]) for name in jobs])
    return ends


@pytest.mark.full
def test_disjoint_banks_work_in_parallel():
    memory = SharedMemoryConfig(size=1024, banks=4, subbanks=4)
    config = wide(memory, 4, 4)
    slices = [range(256 * b, 256 * b + 256, 16) for b in range(4)]
    # Writers run in the opposite direction and never use a reader's line in the same cycle.
    ends = stream_cycles(config, slices, [slices[(b + 1) % 4] for b in range(4)])
    assert cycles_of_wide_accesses(config, slices) == 16
    assert set(ends.values()) <= {16, 17, 18, 19, 20}
    assert stream_cycles(config, slices) == {f"read_{b}": 16 for b in range(4)}


@pytest.mark.parametrize("ports", [2, 3])
def test_one_bank_serves_one_access_a_cycle(ports):
    config = wide(SMALL, ports, 1)
    streams = [range(0, 128, 16)] * ports
    ends = stream_cycles(config, streams)
    assert max(ends.values()) == cycles_of_wide_accesses(config, streams) == 8 * ports
    assert min(ends.values()) == 8 * ports - ports + 1  # in turn, none far ahead


def test_reads_and_writes_of_one_bank_do_not_disturb_each_other():
    config = wide(SMALL, 1, 1)
    ends = stream_cycles(config, [range(0, 64, 16)], [range(64, 128, 16)])
    assert ends == {"read_0": 4, "write_0": 4}


def test_reads_and_writes_of_one_line_yield_in_turn():
    config = wide(SMALL, 1, 1)
    ends = stream_cycles(config, [[0] * 10], [[0] * 10])
    assert sorted(ends.values()) == [19, 20]


def test_no_wide_requester_starves():
    config = wide(SMALL, 4, 3)
    traffic = run_traffic(config, cycles=150, stall=0.0, addresses=range(128))
    for name, wait in traffic.longest_wait.items():
        assert wait <= 2 * len(traffic.names), name


@pytest.mark.full
def test_lanes_wait_only_for_wide_traffic_without_a_gap():
    traffic = run_traffic(MIXED, stalls={"read": 0.5, "write": 0.5, "narrow": 0.0}, cycles=200)
    assert max(traffic.longest_wait[f"narrow_{n}"] for n in range(3)) < 30
    memory = SharedMemoryConfig(size=64, banks=1, subbanks=4, narrow_ports=1)
    config = SharedMemoryPorts(memory=memory, read_sizes=(16,), write_sizes=())
    starved = run_traffic(config, stall=0.0, cycles=100)
    assert starved.longest_wait["narrow_0"] > 50


def test_lanes_use_the_subbanks_a_narrower_access_leaves():
    memory = SharedMemoryConfig(size=64, banks=1, subbanks=4, narrow_ports=2)
    dut = convert(SharedMemory(SharedMemoryPorts(memory=memory, read_sizes=(8,), write_sizes=(8,))))

    async def bench(ctx):
        lanes = [getattr(dut, f"narrow_{n}").request for n in range(2)]
        ctx.set(dut.read_0.request.valid, 1)
        ctx.set(dut.read_0.request.payload, 8)
        ctx.set(dut.write_0.request.valid, 1)
        ctx.set(dut.write_0.request.payload, {"address": 16, "data": 0, "mask": 0})
        # Subbanks 2 and 3 are read, 0 and 1 are written.
        for read_address, write_address, served in ((32, 44, [1, 1]), (40, 36, [0, 0])):
            for lane, address, write in zip(
                lanes, (read_address, write_address), (0, 1), strict=True
            ):
                ctx.set(lane.payload, {"address": address, "write": write, "data": 0, "mask": 0})
                ctx.set(lane.valid, 1)
            assert [ctx.get(lane.ready) for lane in lanes] == served

    simulate(dut, bench)


def test_lanes_that_meet_in_a_word_yield_in_turn():
    memory = SharedMemoryConfig(size=64, banks=1, subbanks=2, narrow_ports=2)
    dut = convert(SharedMemory(SharedMemoryPorts(memory=memory, read_sizes=(), write_sizes=())))

    async def bench(ctx):
        served = []
        for n in range(2):
            request = getattr(dut, f"narrow_{n}").request
            ctx.set(request.payload, {"address": 8, "write": n, "data": 0, "mask": 15})
            ctx.set(request.valid, 1)
        for _ in range(6):
            served.append((
                ctx.get(dut.narrow_0.request.ready),
                ctx.get(dut.narrow_1.request.ready),
            ))
            await ctx.tick()
        assert served == [(0, 1), (1, 0)] * 3

    simulate(dut, bench)


def test_aligned_lanes_are_served_together():
    memory = SharedMemoryConfig(size=256, banks=1, subbanks=4, narrow_ports=4)
    dut = convert(SharedMemory(SharedMemoryPorts(memory=memory, read_sizes=(), write_sizes=())))

    async def bench(ctx):
        lanes = [getattr(dut, f"narrow_{n}").request for n in range(4)]
        for n, lane in enumerate(lanes):
            ctx.set(lane.payload, {"address": 16 + 4 * n, "write": n % 2, "data": n, "mask": 15})
            ctx.set(lane.valid, 1)
        assert [ctx.get(lane.ready) for lane in lanes] == [1, 1, 1, 1]
        await ctx.tick()
        events = ctx.get(dut.events)
        assert (events.narrow_reads, events.narrow_writes, events.narrow_waits) == (2, 2, 0)
        for lane in lanes:
            ctx.set(lane.payload, {"address": 32, "write": 0, "data": 0, "mask": 0})
        assert sum(ctx.get(lane.ready) for lane in lanes) == 1
        await ctx.tick()
        assert ctx.get(dut.events.narrow_waits) == 3
        for lane in lanes:
            ctx.set(lane.valid, 0)
        # Events to be counted need one more clock.
        assert ctx.get(dut.busy)
        await ctx.tick()
        assert ctx.get(dut.events.narrow_waits) == 0

    simulate(dut, bench)


def test_events_tell_done_from_held():
    dut = convert(SharedMemory(wide(SMALL, 2, 1)))

    async def bench(ctx):
        assert ctx.get(dut.events.as_value()) == 0
        ctx.set(dut.read_0.request.valid, 1)
        ctx.set(dut.read_1.request.valid, 1)
        ctx.set(dut.write_0.request.valid, 1)
        ctx.set(dut.write_0.request.payload, {"address": 128, "data": 0, "mask": 0})
        events = ctx.get(dut.events)
        assert (events.read_0, events.read_wait_0) == (1, 0)
        assert (events.read_1, events.read_wait_1) == (0, 1)
        assert (events.write_0, events.write_wait_0) == (1, 0)

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"read_sizes": (32,)}, "each of read_sizes must be between 4 and 16, not 32"),
        ({"write_sizes": (2,)}, "each of write_sizes must be between 4 and 16, not 2"),
        ({"read_sizes": (12,)}, "each of read_sizes must be a power of two, not 12"),
        (
            {"write_sizes": ()},
            "write_sizes must name a port where there are no narrow ports, not ()",
        ),
        ({"row_ports": 33, "row_bytes": 4}, "row_ports must be between 0 and 32, not 33"),
        ({"row_ports": 1}, "row_bytes must be an integer with row ports, not None"),
        ({"row_bytes": 4}, "row_bytes must be none without row ports, not 4"),
        ({"row_ports": 1, "row_bytes": 32}, "row_bytes must be between 4 and 16, not 32"),
        ({"read_sizes": ()}, "read_sizes must name a port where there are no narrow ports, not ()"),
    ],
)
def test_bad_ports_are_refused(parameters, message):
    good = {"memory": SMALL, "read_sizes": (16,), "write_sizes": (16,)}
    with pytest.raises(ValueError, match=re.escape(message)):
        SharedMemoryPorts(**(good | parameters))


def test_ports_of_a_cluster():
    config = cluster_ports(PRESETS["matrix"])
    assert port_names(PRESETS["matrix"]) == (["a", "b", "dma0", "dma1"], ["dma0", "dma1"])
    assert (config.read_sizes, config.write_sizes) == ((32,) * 4, (32,) * 2)


@pytest.mark.parametrize(
    "preset",
    # Sizes between the smallest and the largest are slow tests.
    [
        pytest.param(name, marks=() if name in ("tiny", "virgo") else pytest.mark.slow)
        for name in PRESETS
    ],
)
@pytest.mark.full
def test_logic_between_registers_is_within_the_budget(preset):
    measured = measure(SharedMemory(cluster_ports(PRESETS[preset])), f"shared_{preset}")
    assert measured.depth <= 60
    assert measured.sram_bits == 8 * PRESETS[preset].shared.size
