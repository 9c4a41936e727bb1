"""Tests of a core's requests to shared memory: detection of rows, cycles and values."""

import random
from dataclasses import replace
from itertools import islice

import pytest

from spica.hw.config import WORD_BYTES, CoreConfig, SharedMemoryConfig
from spica.hw.memory.shared.shared_memory import cluster_ports
from spica.hw.presets import PRESETS
from spica.sim.golden.memory.memory_unit.shared_lanes import is_row
from spica.sim.golden.memory.shared.request_patterns import PATTERNS, PORTS
from spica.sim.golden.memory.shared.shared_memory import conflict_degree
from support.memory.request_path import CoreRequest, request_costs

#: Requests of a pattern in the fast test, and all permutations of eight lanes.
SOME, ALL = 100, 40_320
#: Strides in words at which all lanes fit in memory.
STRIDES = range(32)


@pytest.fixture(params=PORTS)
def config(request):
    return one_core(request.param)


def one_core(ports):
    """Return a small machine with one core of eight lanes."""
    return replace(
        PRESETS["core"],
        core=CoreConfig(shared_ports=ports),
        shared=SharedMemoryConfig(size=4096, banks=2, subbanks=8),
    )


def requests_of(pattern, rng, count):
    """Return at most `count` loads of a pattern, or stores of words, half-words and bytes."""
    generated = []
    for words in islice(pattern.words(rng), count):
        sizes = [rng.choice([1, 2, 4, 4]) for _ in words]
        offsets = [rng.randrange(0, WORD_BYTES, size) for size in sizes]
        strobes = [((1 << size) - 1) << at for size, at in zip(sizes, offsets, strict=True)]
        data = [rng.getrandbits(32) for _ in words]
        addresses = [WORD_BYTES * word + at for word, at in zip(words, offsets, strict=True)]
        generated.append(CoreRequest(addresses, rng.random() < 0.5, data, strobes))
    return generated


def expected(config, requests):
    """Return the cycles of each request, all lanes in one bank, and whether it is a row."""
    ports, generated = cluster_ports(config), []
    for addresses in [[*request.addresses] for request in requests]:
        row = is_row(ports.row_bytes, addresses)
        lanes = len(addresses) // ports.memory.narrow_ports
        generated.append((1 if row else max(lanes, conflict_degree(ports.memory, addresses)), row))
    return generated


@pytest.mark.quick("8")
def test_patterns_are_rows_and_cost_as_stated(config):
    requests = {
        pattern: requests_of(pattern, random.Random(pattern.name), SOME) for pattern in PATTERNS
    }
    costs = iter(request_costs(config, [request for some in requests.values() for request in some]))
    for pattern, some in requests.items():
        stated = (pattern.cycles[PORTS.index(config.core.shared_ports)], pattern.is_row)
        assert {*islice(costs, len(some))} == {stated}, pattern.name


@pytest.mark.full
def test_every_stride_from_every_start(config):
    requests = [
        CoreRequest([4 * (start + stride * lane) for lane in range(8)])
        for stride in STRIDES
        for start in range(0, 40, 3)
    ]
    costs = request_costs(config, requests)
    assert costs == expected(config, requests)
    assert {cycles for cycles, _ in costs} >= {1, 8}


def conflicting(degree, rng):
    """Return a load with `degree` lanes in one subbank; the others are alone in theirs."""
    subbanks = rng.sample(range(8), 8)
    places = [(subbanks[0], line) for line in rng.sample(range(64), degree)]
    places += [(subbank, rng.randrange(64)) for subbank in subbanks[degree:]]
    rng.shuffle(places)
    return CoreRequest([4 * (8 * line + subbank) for subbank, line in places])


def test_words_in_one_subbank_take_turns():
    rng = random.Random(4)
    degrees = [degree for degree in range(1, 9) for _ in range(20)]
    costs = request_costs(one_core(8), [conflicting(degree, rng) for degree in degrees])
    assert [cycles for cycles, _ in costs] == degrees


@pytest.mark.quick("8")
def test_lanes_outside_the_mask_do_not_count(config):
    rng = random.Random(3)
    requests, rows = [], []
    for _ in range(200):
        mask, first = rng.randrange(1, 256), 8 * rng.randrange(64)
        inside = rng.random() < 0.7
        words = [
            first + rng.randrange(8) if mask >> n & 1 and inside else rng.randrange(512)
            for n in range(8)
        ]
        data, store = [rng.getrandbits(32) for _ in words], rng.random() < 0.5
        requests.append(CoreRequest([4 * word for word in words], store, data, [15] * 8, mask))
        active = [4 * word for n, word in enumerate(words) if mask >> n & 1]
        rows.append(is_row(cluster_ports(config).row_bytes, active))
    assert [row for _, row in request_costs(config, requests)] == rows
    assert {*rows} == {False, True}


@pytest.mark.slow
def test_all_permutations_are_rows():
    (pattern,) = (request for request in PATTERNS if request.name == "every permutation of a row")
    requests = requests_of(pattern, random.Random(1), ALL)
    assert len(requests) == ALL
    assert {*request_costs(one_core(2), requests)} == {(1, True)}
