"""Tests of a core's requests to shared memory: detection of rows, cycles and values."""

import random

import pytest

from spica.sim.golden.memory.memory_unit.shared_lanes import is_row
from spica.sim.golden.memory.shared.shared_memory import conflict_degree
from spica.sim.units.shared_memory.request_path import CoreRequest, RequestBench
from spica.sim.units.shared_memory.request_patterns import (
    PATTERNS,
    PORTS,
    STRIDES,
    one_core,
    requests_of,
)

#: Requests of a pattern in the fast test, and all permutations of eight lanes.
SOME, ALL = 150, 40_320


@pytest.fixture(scope="module", params=PORTS)
def bench(request):
    with RequestBench(one_core(request.param), optimize=0) as bench:
        yield bench


def expected(bench, requests):
    """Return the cycles of each request, all lanes in one bank, and whether it is a row."""
    memory, found = bench.ports.memory, []
    for addresses in [[*each.addresses] for each in requests]:
        row = is_row(bench.ports.row_bytes, addresses)
        cycles = max(len(addresses) // memory.narrow_ports, conflict_degree(memory, addresses))
        found.append((1 if row else cycles, row))
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
@pytest.mark.quick("8-*")
def test_patterns_are_rows_and_cost_as_stated(bench, pattern):
    ports = bench.ports.memory.narrow_ports
    requests = requests_of(pattern, random.Random(pattern.name), SOME)
    costs = bench.run(requests)
    assert {*costs} == {(pattern.cycles[PORTS.index(ports)], pattern.is_row)}


@pytest.mark.quick("8")
def test_every_stride_from_every_start(bench):
    requests = [
        CoreRequest([4 * (start + stride * lane) for lane in range(8)])
        for stride in STRIDES
        for start in range(0, 40, 3)
    ]
    costs = bench.run(requests)
    assert costs == expected(bench, requests)
    assert {cycles for cycles, _ in costs} >= {1, 8}


@pytest.mark.parametrize("degree", range(1, 9))
@pytest.mark.quick("8-8")
def test_words_in_one_subbank_take_turns(bench, degree):
    """Some lanes are in one subbank and in different lines, each other lane is alone in its own."""
    rng, requests = random.Random(degree), []
    for _ in range(20):
        subbanks = rng.sample(range(8), 8)
        places = [(subbanks[0], line) for line in rng.sample(range(64), degree)]
        places += [(subbank, rng.randrange(64)) for subbank in subbanks[degree:]]
        rng.shuffle(places)
        requests.append(CoreRequest([4 * (8 * line + subbank) for subbank, line in places]))
    expected_cycles = [cycles for cycles, _ in expected(bench, requests)]
    costs = [cycles for cycles, _ in bench.run(requests)]
    if bench.ports.memory.narrow_ports == 8:
        assert costs == expected_cycles == [degree] * len(requests)
    else:
        assert all(map(int.__ge__, costs, expected_cycles))


@pytest.mark.quick("8")
def test_lanes_outside_the_mask_do_not_count(bench):
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
        rows.append(is_row(bench.ports.row_bytes, active))
    assert [row for _, row in bench.run(requests)] == rows
    assert {*rows} == {False, True}


@pytest.mark.slow
def test_all_permutations_are_rows():
    (pattern,) = (each for each in PATTERNS if each.name == "every permutation of a row")
    with RequestBench(one_core(2)) as bench:
        requests = requests_of(pattern, random.Random(1), ALL)
        assert len(requests) == ALL
        assert {*bench.run(requests)} == {(1, True)}
