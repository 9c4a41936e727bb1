"""Tests of the throughput, latency and cost of an L2 slice."""

import random
from dataclasses import replace

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2.arbiter import CLEARED_TOGETHER
from spica.hw.memory.l2.l2_slice import L2Slice
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.synth.budgets import too_deep
from spica.synth.measure import measure
from support.memory.l2_bench import Burst, L2Bench

#: Limits of a slice at its default, with 64 MSHRs and 64 write-backs. Without claims of prefetched
#: lines and writes of whole lines to DRAM they were 1,920 cells and 4,400 flip-flops.
CELLS, FLIP_FLOPS, DEPTH = 2_060, 4_480, 51
#: The same with atomics of 256 threads of each source, and 8 reservations: 14,200 NAND2 more.
ATOMIC_CELLS, ATOMIC_FLIP_FLOPS = 2_530, 4_990
#: An ID of the DMA, whose misses do not allocate, and two of cores.
DMA, CORE, OTHER = 0, 0x20, 0x41


def config_of(l2: L2Config) -> L2SliceConfig:
    """Return a slice of all addresses without prefetching."""
    return L2SliceConfig(l2=replace(l2, prefetch=0), masters=1)


SMALL = config_of(L2Config(size=512, ways=2, mshrs=4, write_backs=4))
SMALL_OF_MANY = config_of(L2Config(size=1024, ways=2, mshrs=16, write_backs=4))


def beats_per_cycle(bursts: list[Burst]) -> float:
    """Return the beats per cycle on the bus from the second burst on."""
    ends = [burst.ended for burst in bursts]
    beats = sum(len(burst.writes or burst.values) for burst in bursts[1:])
    return beats / (ends[-1] - ends[0])


def test_latency():
    bench = L2Bench(SMALL, random.Random(1), latency=0)
    first, again, miss = (bench.reads(CORE, [n])[0] for n in (0, 0, 1))
    write = bench.writes(CORE, [0])[0]
    bench.run("idle", [first], [again], [write], [miss])
    assert again.first - again.since == 2
    assert write.ended - write.since == 3
    # 2 cycles to DRAM, 1 there for each of 2 beats, 4 back.
    assert miss.first - miss.since == 8


@pytest.mark.full
def test_reads_of_cleared_sets_do_not_wait_for_the_rest_of_the_sweep():
    config = replace(config_of(L2Config(size=1 << 16, ways=2)), id_width=7)
    bench = L2Bench(config, random.Random(1), latency=0, span=1 << 15)
    (first,), (last,) = bench.reads(CORE, [0]), bench.reads(OTHER, [config.l2.sets - 1])
    bench.run([first], [last])
    assert first.ended < 2 * CORE + 20  # ids of the groups before its own are cleared first
    assert last.ended > config.l2.sets


@pytest.mark.parametrize("identity", [CORE, OTHER, 0x7F])
@pytest.mark.quick(1)
def test_a_read_waits_until_the_state_of_its_id_is_cleared(identity):
    """There are more ids than sets."""
    config = replace(config_of(L2Config(size=1024, ways=2)), id_width=7)
    bench = L2Bench(config, random.Random(1), latency=0)
    reads = bench.reads(identity, range(4))
    bench.run(reads)
    group = 1 << config.id_width - CLEARED_TOGETHER
    assert identity - identity % group <= reads[0].since < 2 * (identity + group) + 20


@pytest.mark.full
def test_hits_go_at_a_beat_per_cycle_each_way():
    bench = L2Bench(config_of(L2Config(size=4096, mshrs=4)), random.Random(1))
    lines = range(40)
    warm, write = (bench.writes(CORE, lines) for _ in range(2))
    read = bench.reads(CORE, lines)
    bench.run(warm, write, read)
    assert beats_per_cycle(write) == beats_per_cycle(read) == 1
    both = bench.writes(CORE, lines) + bench.reads(OTHER, lines)
    bench = L2Bench(bench.config, random.Random(1))
    bench.run(warm_of(both), both)
    assert beats_per_cycle(both[:40]) > 0.95 and beats_per_cycle(both[40:]) > 0.95


def warm_of(bursts: list[Burst]) -> list[Burst]:
    """Return prior writes of the same lines."""
    return [Burst(b.id, b.address, writes=b.writes) for b in bursts if b.writes]


def misses_per_cycle(identity: int, l2: L2Config, latency: int) -> float:
    """Return the beats per cycle of reads that all miss."""
    bench = L2Bench(config_of(l2), random.Random(1), latency=latency, span=1 << 14)
    bursts = bench.reads(identity, range(2 * l2.mshrs))
    bench.run("idle", bursts)
    assert len(bench.fetched) == len(bursts)
    return beats_per_cycle(bursts)


@pytest.mark.parametrize("identity", [DMA, CORE])
@pytest.mark.full
def test_misses_keep_dram_busy(identity):
    """16 lines of 2 beats cover the cycles of one miss."""
    assert misses_per_cycle(identity, L2Config(size=1024, mshrs=16, write_backs=4), 16) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("identity", [DMA, CORE])
def test_misses_keep_dram_busy_at_its_default(identity):
    assert misses_per_cycle(identity, L2Config(), 100) > 0.98


def both_ways(identity: int, l2: L2Config, latency: int, lines: int) -> tuple[float, float]:
    """Return the beats per cycle of concurrent reads and writes that all go to DRAM."""
    config = config_of(l2)
    bench = L2Bench(config, random.Random(1), latency=latency, span=2 * lines * l2.line_bytes)
    read = bench.reads(identity, range(lines))
    write = bench.writes(identity, range(lines, 2 * lines))
    bench.run("idle", [*read, *write])
    assert len(bench.fetched) == lines
    return beats_per_cycle(read), beats_per_cycle(write)


@pytest.mark.parametrize("identity", [DMA, CORE])
@pytest.mark.full
def test_reads_and_writes_of_dram_share_lookups(identity):
    """A read takes two lookups and a write one: 2 beats of each in 3 cycles."""
    rates = both_ways(identity, L2Config(size=1024, mshrs=32, write_backs=32), 20, 60)
    assert min(rates) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("identity", [DMA, CORE])
def test_reads_and_writes_of_dram_share_lookups_at_its_default(identity):
    assert min(both_ways(identity, L2Config(), 100, 200)) > 0.6


@pytest.mark.full
def test_hits_that_wait_for_a_miss_follow_it_without_a_pause():
    bench = L2Bench(SMALL_OF_MANY, random.Random(1), latency=40)
    warm, miss = bench.reads(CORE, range(8), beats=1), bench.reads(CORE, [20])
    hits = bench.reads(CORE, range(8), beats=1)
    bench.run("idle", warm, [*miss, *hits])
    assert len(bench.fetched) == 9
    ends = [burst.ended for burst in (*miss, *hits)]
    assert ends == list(range(ends[0], ends[0] + 9))


@pytest.mark.full
def test_stated_cost():
    measured = measure(L2Slice(SMALL), "l2_slice")
    assert not too_deep(measured)


@pytest.mark.slow
def test_stated_cost_at_its_default():
    measured = measure(L2Slice(L2SliceConfig(l2=L2Config())), "l2_slice")
    assert not too_deep(measured)
    assert measured.depth <= DEPTH
    assert measured.cells <= CELLS
    assert measured.flip_flops <= FLIP_FLOPS


@pytest.mark.slow
def test_stated_cost_with_atomics():
    measured = measure(L2Slice(L2SliceConfig(l2=L2Config(), owner_width=8)), "l2_slice")
    assert not too_deep(measured)
    assert measured.depth <= DEPTH
    assert measured.cells <= ATOMIC_CELLS
    assert measured.flip_flops <= ATOMIC_FLIP_FLOPS
