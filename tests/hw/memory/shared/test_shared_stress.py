"""Stress tests of shared memory: grants obey its rules; responses and events follow from them."""

from collections import Counter
from dataclasses import replace

import pytest

from spica.hw.config import SharedAtomicsConfig, SharedMemoryConfig
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts, cluster_ports
from spica.hw.presets import PRESETS
from support.memory.shared_memory_patterns import mixed_wishes
from support.memory.shared_stress import SharedStress

#: Least accesses in the fast tests and, of all shapes together, in the slow ones.
FAST, SLOW = 20_000, 1_000_000
#: A port for each of eight lanes, and wide ports of whole and partial lines.
EIGHT_LANES = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=8192, banks=4, subbanks=8, narrow_ports=8),
    read_sizes=(32, 32, 16),
    write_sizes=(32, 16),
)
#: Cores with row ports of half a line, beside lanes and wide ports of every size.
HALVES = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=4096, banks=2, subbanks=8, narrow_ports=4),
    read_sizes=(32, 16, 4),
    write_sizes=(32, 4),
    row_ports=3,
    row_bytes=16,
)
LANES = SharedAtomicsConfig(owner_width=1, reservations=4)
#: The same with atomics.
ATOMICS = {
    "lanes": replace(EIGHT_LANES, memory=replace(EIGHT_LANES.memory, atomics=LANES)),
    "rows": replace(HALVES, memory=replace(HALVES.memory, atomics=LANES)),
}
VIRGO = PRESETS["virgo"]
SHAPES = {
    "virgo": cluster_ports(VIRGO),
    "two rows per line": cluster_ports(replace(VIRGO, shared=replace(VIRGO.shared, subbanks=16))),
    "halves": HALVES,
    "tiny": cluster_ports(PRESETS["tiny"]),
    "every width": SharedMemoryPorts(
        memory=SharedMemoryConfig(size=2048, banks=4, subbanks=8, narrow_ports=8, read_latency=3),
        read_sizes=(32, 16, 8, 4),
        write_sizes=(32, 4, 16),
    ),
    "virgo with atomics": cluster_ports(replace(VIRGO, core=replace(VIRGO.core, atomics=True))),
    "halves with atomics": ATOMICS["rows"],
}


@pytest.fixture(scope="module", params=[EIGHT_LANES, HALVES], ids=["lanes", "rows"])
def stress(request):
    with SharedStress(request.param, optimize=0) as stress:
        yield stress


def stressed(stress, accesses, *, seed, cycles=20_000):
    """Run mixed wishes until `accesses` are done; require some of each kind."""
    kinds = dict.fromkeys([name.partition("_")[0] for name in stress.sizes], 0)
    conditional = Counter[int]()
    while sum(kinds.values()) < accesses:
        run = stress.run(mixed_wishes(stress.config, cycles, seed))
        for name, count in run.accesses.items():
            kinds[name.partition("_")[0]] += count
        conditional += run.conditional
        assert all(run.accesses[name] for name in stress.sizes)
        for kind in ("read", "write"):
            waits = [run.longest_wait[name] for name in stress.sizes if name.startswith(kind)]
            # Each other port precedes at most once, and each may have to yield once. Each waits
            # for the writes of three atomics, and while the last one locks a word.
            longest = 2 if stress.config.memory.atomics is None else 12
            assert max(waits) < longest * len(waits)
        seed += 1
    # No kind of port has less than a quarter of its share.
    for kind, count in kinds.items():
        ports = sum(name.startswith(kind) for name in stress.sizes)
        assert 4 * count * len(stress.sizes) > accesses * ports, kinds
    return conditional


@pytest.mark.quick("lanes")
def test_every_port_at_once(stress):
    stress.start()
    stressed(stress, FAST, seed=1, cycles=8000)


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.quick("rows")
def test_every_port_at_once_with_atomics(name):
    with SharedStress(ATOMICS[name], optimize=0) as stress:
        conditional = stressed(stress, FAST, seed=1, cycles=8000)
    assert min(conditional[0], conditional[1]) > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_million_accesses(name):
    with SharedStress(SHAPES[name]) as stress:
        stressed(stress, SLOW / len(SHAPES), seed=1)
