"""Tests of the network between clusters: equal to its model, in order, fair, latency, cost."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import ClusterNetworkConfig, SharedPortConfig
from spica.hw.machine.cluster_network import ClusterNetwork
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop
from spica.sim.golden.memory.dma.dma import SparseMemory
from support.cluster.cluster_network_bench import ClusterNetworkBench

SHARED = SharedPortConfig(size=4096, read_latency=2)
CONFIGS = {
    "two": ClusterNetworkConfig(shared=SHARED, clusters=2, cores=2),
    "three": ClusterNetworkConfig(
        shared=SharedPortConfig(size=1024, read_latency=1), clusters=3, cores=6
    ),
    "late": ClusterNetworkConfig(
        shared=SharedPortConfig(size=8192, read_latency=5), clusters=4, cores=4
    ),
}
STALLS = [(0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.5, 0.5), (0.0, 0.95)]


def random_requests(rng: random.Random, config: ClusterNetworkConfig, core: int, count: int):
    """Yield requests of a core to words of its own, mostly several to a cluster."""
    words = config.shared.size // 4
    own = [word for word in (*range(16), *range(words - 16, words)) if word % config.cores == core]
    cluster = 0
    for _ in range(count):
        if rng.random() < 0.4:
            cluster = rng.randrange(config.clusters)
        data = rng.choice([0, 0xFFFF_FFFF, rng.getrandbits(32)])
        yield cluster, (4 * rng.choice(own), rng.randrange(2), data, rng.randrange(16))


def carried_out(requests, clusters: int) -> tuple[list[SparseMemory], list[int]]:
    """Return the memories after requests in order, and the words that they load."""
    memories, loaded = [SparseMemory() for _ in range(clusters)], []
    for cluster, (address, write, data, mask) in requests:
        if write:
            memories[cluster].write_masked(address, data, mask, 4)
        else:
            loaded.append(int.from_bytes(memories[cluster].read(address, 4), "little"))
    return memories, loaded


@pytest.mark.parametrize("name", CONFIGS)
def test_it_converts(name):
    require_no_loop(ClusterNetwork, CONFIGS[name])


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(4)
def test_requests_of_each_core_take_effect_in_order(name, stalls):
    config, rng = CONFIGS[name], random.Random(f"{name} {stalls}")
    todo = [list(random_requests(rng, config, core, 100)) for core in range(config.cores)]
    bench = ClusterNetworkBench(config, todo, stalls=stalls)
    bench.run()
    whole = [request for requests in todo for request in requests]
    memories, _ = carried_out(whole, config.clusters)
    assert [memory.contents for memory in bench.memories] == memories
    for core, requests in zip(bench.cores, todo, strict=True):
        assert core.loaded == carried_out(requests, config.clusters)[1]
        assert len(core.answered) == len(requests)
    assert sum(len(memory.log) for memory in bench.memories) == len(whole)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_request_waits_for_at_most_one_of_each_other_core(name):
    config, rng = CONFIGS[name], random.Random(name)
    for stalls in ((0.0, 0.0), (0.2, 0.7)):
        todo = [
            [(rng.randrange(8) // 7, (4 * core, 0, 0, 0)) for _ in range(60)]
            for core in range(config.cores)
        ]
        bench = ClusterNetworkBench(config, todo, stalls=stalls)
        bench.run()
        overtaken: list[dict[int, int]] = [{} for _ in range(config.cores)]
        for waiting, accepted in bench.history:
            for core, cluster in waiting.items():
                for other in accepted - {core}:
                    if waiting[other] == cluster:
                        overtaken[core][other] = overtaken[core].get(other, 0) + 1
                assert max(overtaken[core].values(), default=0) <= 1
                if core in accepted:
                    overtaken[core] = {}


@pytest.mark.parametrize("name", CONFIGS)
def test_latency_and_throughput(name):
    config = CONFIGS[name]
    latency = config.shared.read_latency + 2
    todo: list[list] = [[] for _ in range(config.cores)]
    todo[1] = [(1, (4 * n, n % 2, n, 15)) for n in range(20)]
    bench = ClusterNetworkBench(config, todo)
    bench.memories[1].ready = 1
    bench.run()
    (core,) = (core for core in bench.cores if core.accepted)
    start = core.accepted[0]
    assert core.accepted == list(range(start, start + 20))
    assert core.answered == [cycle + latency for cycle in core.accepted]
    assert [cycle for cycle, _ in bench.memories[1].log] == [cycle + 1 for cycle in core.accepted]


def test_clusters_serve_different_cores_at_once():
    config = CONFIGS["two"]
    todo = [[(core, (0, 0, 0, 0))] * 30 for core in range(2)]
    bench = ClusterNetworkBench(config, todo)
    bench.run()
    for core in bench.cores:
        assert core.accepted == list(range(core.accepted[0], core.accepted[0] + 30))


def test_its_config_is_that_of_the_machine():
    machine = replace(PRESETS["virgo"], clusters=3)
    config = ClusterNetworkConfig.of(machine)
    assert (config.clusters, config.cores, config.shared) == (3, 12, machine.shared.port)
    with pytest.raises(ValueError, match="clusters must be at least 2 for a network, not 1"):
        replace(config, clusters=1)
