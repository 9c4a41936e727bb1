"""Tests of load latency: bins, percentiles, and sums over cores."""

import random
from itertools import pairwise

import pytest

from spica.sim.harness.interface import HARNESS
from spica.sim.harness.load_latency import LoadLatency, bin_range, summed

FINE, BINS = (HARNESS.constant(f"LoadCounts::{name}") for name in ("kFine", "kBins"))


def latency_of(cycles):
    """Return the counts of loads with these latencies in cycles."""
    bins = [0] * BINS
    for each in cycles:
        bins[each if each < FINE else FINE + each.bit_length() - FINE.bit_length()] += 1
    return LoadLatency(tuple(bins), min(cycles, default=0), max(cycles, default=0))


def test_bins_follow_each_other():
    ends = [bin_range(place) for place in range(BINS)]
    assert ends[0] == (0, 0) and ends[FINE - 1] == (511, 511)
    assert ends[FINE] == (512, 1023) and ends[FINE + 1] == (1024, 2047)
    assert all(first == last + 1 for (_, last), (first, _) in pairwise(ends))


@pytest.mark.parametrize("longest", [20, 511])
def test_percentiles_are_exact_below_the_powers_of_two(longest):
    rng = random.Random(longest)
    cycles = sorted(rng.randrange(3, longest + 1) for _ in range(1000))
    latency = latency_of(cycles)
    assert latency.loads == 1000
    assert latency.quantile(0.5) == cycles[499]
    assert latency.quantile(0.99) == cycles[989]
    assert latency.quantile(1.0) == latency.most == cycles[-1]
    assert latency.quantile(0.0) == latency.least == cycles[0]


def test_a_percentile_of_slow_loads_is_the_end_of_its_bin():
    latency = latency_of([10] * 90 + [600] * 8 + [5000, 7000])
    assert latency.quantile(0.9) == 10
    assert latency.quantile(0.95) == 1023
    assert latency.quantile(0.99) == latency.quantile(1.0) == 7000
    assert latency.as_dict()["histogram"] == {"10": 90, "512": 8, "4096": 2}


def test_cores_are_added():
    first, second, idle = latency_of([7, 9]), latency_of([3]), latency_of([])
    found = summed([first, second, idle])
    assert (found["count"], found["min"], found["p50"], found["max"]) == (3, 3, 7, 9)
    assert found["histogram"] == {"3": 1, "7": 1, "9": 1}
    assert found["by_core"][2] == {"count": 0, "min": 0, "p50": 0, "p99": 0, "max": 0}
    assert (idle + first).least == 7
