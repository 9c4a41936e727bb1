"""Tests of counters of a cluster: cache events, and load latencies."""

import random
from itertools import pairwise

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.isa.memory_map import ENTRY
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.interface import HARNESS
from spica.sim.harness.load_latency import LoadLatency, bin_range, summed
from spica.sim.harness.stop_reason import StopReason
from support.cluster.two_cores import TWO, two_cores
from support.core.core_bench import image
from support.memory.l2_bench import L2Bench

ROOM = 8192
#: Lines that are loaded, and those of them that are stored to.
LINES, STORED = 24, 7
#: One thread loads two words of each line, then one, then stores to some; all fit in the caches.
COUNTED = f"""
        csrr t0, core_id
        bnez t0, end
        li a0, {ENTRY + 1024}
        mv a2, a0
        li a1, {LINES}
both:   lw t1, 0(a0)
        lw t2, 4(a0)
        add t3, t1, t2      # waits for both
        addi a0, a0, 64
        addi a1, a1, -1
        bnez a1, both
        mv a0, a2
        li a1, {LINES}
again:  lw t1, 32(a0)
        addi a0, a0, 64
        addi a1, a1, -1
        bnez a1, again
        li a1, {STORED}
stores: sw a1, 0(a2)
        addi a2, a2, 64
        addi a1, a1, -1
        bnez a1, stores
end:    vx_tmc zero
"""


@pytest.mark.full
def test_counters_of_caches_are_what_is_seen_around_them():
    with two_cores(memory=DramConfig()) as machine:
        machine.allow(ENTRY, ROOM)
        machine.write(ENTRY, image(COUNTED, ROOM))
        outcome = machine.run(100_000)
        counts, latency = machine.cluster.events(), machine.cluster.load_latency()
        caches = machine.cluster.cache_latency()
    assert outcome.stop is StopReason.DONE
    reads = sum(channel.read_bursts for channel in outcome.channels)
    # The second word of a line is requested while the first is being read.
    assert (counts["l1d_reads"], counts["l1d_writes"]) == (3 * LINES, STORED)
    assert (counts["l1d_misses"], counts["l1d_joins"]) == (LINES, LINES)
    assert counts["l1d_entry_waits"] == 0
    assert [one.loads for one in latency["dram"]] == [3 * LINES, 0]
    check_latency(caches, counts, latency, DramConfig().latency)
    assert counts["l1d_bank_waits"] == counts["l1i_entry_waits"] == 0  # one thread, few misses
    assert counts["l1i_bank_waits"] >= TWO.core.l1i.sets  # the tags are cleared at the start
    # A fetch that misses requests a line, or waits for a line that was prefetched.
    assert counts["l1i_fetches"] > counts["l1i_misses"] > 0 < counts["l1i_lines"]
    assert counts["l2_reads"] == counts["l1d_misses"] + counts["l1i_lines"]
    assert counts["l2_prefetches"] > LINES // 2
    assert counts["l2_read_misses"] + counts["l2_prefetches"] >= reads >= LINES
    assert (counts["l2_writes"], counts["l2_write_misses"]) == (STORED, 0)
    assert counts["l2_write_backs"] == sum(c.write_bursts for c in outcome.channels) == STORED


def check_latency(caches, counts, loads, dram: int):
    """Check the read latency of the caches, given their counts and the load latencies."""
    for cache, number in (("l1i", "fetches"), ("l1d", "reads"), ("l2", "reads")):
        assert sum(part.loads for part in caches[cache]) == counts[f"{cache}_{number}"]
        # A hit is answered in the next cycle; a whole L2 line after 2 cycles and its 4 beats.
        assert min(part.least for part in caches[cache] if part.loads) == (
            5 if cache == "l2" else 1
        )
        assert max(part.most for part in caches[cache]) > dram
    data = caches["l1d"]
    assert [part.loads for part in data] == [3 * LINES, 0]
    # Each of the last loads hits. A load takes a cycle to the cache and none from it.
    assert data[0].quantile(1 / 3) == 1 < data[0].quantile(0.4)
    assert loads["dram"][0].least == data[0].least + 1
    assert loads["dram"][0].most >= data[0].most + 1


def l2_events(mshrs: int, *accesses):
    """Return the counts of a slice after some accesses; all lines below 20 are present.

    Accesses (is_write, lines) of each kind are issued in order.
    """
    l2 = L2Config(size=128, line_bytes=8, mshrs=mshrs, write_backs=8, prefetch=0)
    config = L2SliceConfig(l2=l2, data_width=64, masters=1)
    bench = L2Bench(config, random.Random(1), latency=40)
    bursts = []
    for is_write, lines in accesses:
        bursts += bench.writes(0x60, lines) if is_write else bench.reads(0x41, lines, beats=1)
    bench.run(bench.writes(0x20, range(8)), bursts)
    return bench.events


@pytest.mark.full
def test_the_l2_distinguishes_waits_for_each_other_from_waits_for_a_free_miss():
    reads, writes = (False, [0, 1] * 20), (True, [4, 5] * 20)
    for alone in (reads, writes):
        events = l2_events(8, alone)
        assert events["pipeline_stall"] == events["mshr_stall"] == 0
    events = l2_events(8, reads, writes)
    # Both kinds come in every cycle, so one of them waits.
    assert events["pipeline_stall"] in range(40 + 40 - 8, 40 + 40)
    assert events["mshr_stall"] == 0
    events = l2_events(2, (False, [20, 21, 22]))
    assert events["mshr_stall"] in range(40, 50)  # until DRAM has answered
    assert events["pipeline_stall"] == 0


FINE, BINS = (HARNESS.constant(f"LoadCounts::{name}") for name in ("kFine", "kBins"))


def latency_of(cycles):
    """Return the counts of loads with these latencies in cycles."""
    bins = [0] * BINS
    for latency in cycles:
        bins[latency if latency < FINE else FINE + latency.bit_length() - FINE.bit_length()] += 1
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
    total = summed([first, second, idle])
    assert (total["count"], total["min"], total["p50"], total["max"]) == (3, 3, 7, 9)
    assert total["histogram"] == {"3": 1, "7": 1, "9": 1}
    assert total["by_core"][2] == {"count": 0, "min": 0, "p50": 0, "p99": 0, "max": 0}
    assert (idle + first).least == 7
