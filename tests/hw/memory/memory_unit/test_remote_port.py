"""Tests of a core's accesses through windows: latency, throughput, stalls, parts of words, ends."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CacheConfig, SharedMemoryConfig
from spica.hw.isa.memory_map import DRAM_BASE, SHARED_BASE, cluster_window
from spica.sim.iss.program_bench import small_config
from support.memory.memory_unit_bench import MemoryUnitBench, row

CONFIG = replace(
    small_config(
        warps=2,
        threads=4,
        l1i=CacheConfig(size=1024, mshrs=2, prefetch=1),
        l1d=CacheConfig(size=1024, mshrs=4, prefetch=0),
    ),
    clusters=3,
)
#: With fewer lane accesses in flight than the queue passes on after 1 cycle.
FEW = replace(CONFIG, core=replace(CONFIG.core, accesses=2, threads=4))
WINDOWS = [cluster_window(cluster) for cluster in range(3)]


def latencies(bench: MemoryUnitBench) -> list[list[int]]:
    """Return the cycles from the acceptance of each request to its responses."""
    return [[cycle - answer.accepted for cycle in answer.cycles] for answer in bench.answers]


@pytest.mark.parametrize("read_latency", [1, 2, 6])
@pytest.mark.parametrize("config", [CONFIG, FEW], ids=["many", "few"])
@pytest.mark.quick(2)
def test_an_access_takes_few_cycles_and_lanes_follow_each_other(config, read_latency):
    first = (6 if config is FEW else 7) + read_latency
    config = replace(config, shared=replace(config.shared, read_latency=read_latency))
    for is_store in (0, 1):
        bench = MemoryUnitBench(config, random.Random(1))
        one, both = row(WINDOWS[1], 4, is_store=is_store) | {"mask": 4}, row(WINDOWS[2], 4)
        bench.run([one, *[None] * 30, both, row(WINDOWS[2] + 16, 4)])
        alone, lanes, more = latencies(bench)
        assert alone == [first]
        assert lanes == list(range(first, first + 4))
        cycles = [cycle for answer in bench.answers[1:] for cycle in answer.cycles]
        assert cycles == list(range(cycles[0], cycles[0] + 8)), more


def test_lanes_of_different_clusters_wait_for_each_other():
    bench = MemoryUnitBench(CONFIG, random.Random(1))
    divergent = row(0, 4) | {"address": [WINDOWS[n % 3] + 4 * n for n in range(4)]}
    bench.run([divergent])
    ((first, *later),) = latencies(bench)
    turn = CONFIG.shared.read_latency + 4
    assert later == [first + turn * n for n in range(1, 4)]


@pytest.mark.parametrize("base", [SHARED_BASE, DRAM_BASE])
def test_what_a_cluster_holds_holds_nothing_else(base):
    config, rng = CONFIG, random.Random(4)
    bench = MemoryUnitBench(config, rng)
    core = config.core
    bench.remote.stall = 1.0  # until all other requests are done
    held = [row(WINDOWS[n % 3], 4, is_store=n % 2, step=0) for n in range(core.accesses - 1)]
    others = [row(base + 16 * n, 4, is_store=n % 3 == 0) for n in range(40)]
    released = 900

    def release():
        bench.remote.stall = 0.0

    bench.run(held + others, events={released: release})
    assert len(bench.remote.accepted) == 4 * len(held)
    assert all(answer.cycles[0] > released for answer in bench.answers[: len(held)])
    assert all(answer.cycles[-1] < released for answer in bench.answers[len(held) :])


@pytest.mark.parametrize("base", [DRAM_BASE, SHARED_BASE])
def test_windows_are_answered_while_memory_answers_in_every_cycle(base):
    bench = MemoryUnitBench(CONFIG, random.Random(1))
    beats = [row(base + 16 * n, 4) for n in range(40)]
    bench.run([*beats, *[None] * 60, row(WINDOWS[0], 4), *3 * beats])
    answer, *others = bench.answers[len(beats) :]
    assert answer.cycles[-1] - answer.accepted <= 24
    assert answer.cycles[-1] < others[-1].cycles[0]


@pytest.mark.parametrize("size, offset", [(1, 0), (1, 3), (2, 0), (2, 2), (4, 0)])
def test_parts_of_words_are_stored(size, offset):
    bench = MemoryUnitBench(CONFIG, random.Random(size + offset))
    addresses = [WINDOWS[n % 3] + CONFIG.shared.size - 4 - 4 * n + offset for n in range(4)]
    data = [0x0102_0304 * (n + 1) for n in range(4)]
    strobes = [((1 << size) - 1) << offset] * 4
    first = row(0, 4, is_store=1) | {"address": [at - offset for at in addresses]}
    bench.run([
        first | {"data": [0xFFFF_FFFF] * 4},
        row(0, 4, is_store=1) | {"address": addresses, "data": data, "strobes": strobes},
        row(0, 4) | {"address": addresses, "strobes": strobes},
    ])
    mask = ((1 << 8 * size) - 1) << 8 * offset
    loaded = [bench.answers[2].words[lane] for lane in range(4)]
    assert loaded == [(word & mask) | (0xFFFF_FFFF & ~mask) for word in data]
    assert bench.memory.windows == bench.golden.windows


@pytest.mark.parametrize(
    "address",
    [
        WINDOWS[0] + CONFIG.shared.size,
        WINDOWS[1] - 4,
        WINDOWS[2] + CONFIG.shared.size,
        cluster_window(3),
        cluster_window(14) - 4,
    ],
)
def test_a_window_ends_with_shared_memory_and_windows_with_the_last_cluster(address):
    for is_store in (0, 1):
        bench = MemoryUnitBench(CONFIG, random.Random(1))
        lanes = row(0, 4, is_store=is_store) | {
            "address": [WINDOWS[2] + CONFIG.shared.size - 4, address, WINDOWS[0], address]
        }
        bench.run([lanes])
        (answer,) = bench.answers
        assert [answer.words[lane] for lane in range(4)] == [0, None, 0, None]
        assert len(bench.remote.accepted) == 2


def test_one_cluster_has_no_windows():
    bench = MemoryUnitBench(replace(CONFIG, clusters=1), random.Random(1))
    bench.run([row(WINDOWS[0], 4)])
    assert set(bench.answers[0].words.values()) == {None}


def test_small_memories_have_windows_too():
    config = replace(CONFIG, shared=SharedMemoryConfig(size=64, banks=1, subbanks=4))
    bench = MemoryUnitBench(config, random.Random(1))
    stored = row(WINDOWS[2] + 48, 4, is_store=1) | {"data": [5, 6, 7, 8]}
    bench.run([stored, row(WINDOWS[2] + 60, 4) | {"mask": 3}])
    assert [bench.answers[1].words[lane] for lane in range(2)] == [8, None]
