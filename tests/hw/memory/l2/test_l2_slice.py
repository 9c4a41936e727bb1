"""Tests of an L2 slice: one order of writes for all requesters."""

import random
from dataclasses import replace

import pytest
from amaranth.back import rtlil

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2.flush import GROUPS
from spica.hw.memory.l2.l2_slice import L2Slice
from spica.hw.memory.l2.layouts import L2SliceConfig
from support.memory.l2_bench import Burst, L2Bench
from support.slow_cases import pairs

#: An ID of the DMA, whose misses do not allocate, and two of cores.
DMA, CORE, OTHER = 0, 0x20, 0x41
#: Ids of all sources.
IDS = [DMA, DMA + 1, CORE, CORE + 1, OTHER]


def config_of(l2: L2Config, **place) -> L2SliceConfig:
    """Return a slice of all addresses without prefetching."""
    return L2SliceConfig(l2=replace(l2, prefetch=0), **{"masters": 1, **place})


SMALL = config_of(L2Config(size=512, ways=2, mshrs=4, write_backs=4))
CONFIGS = {
    "small": SMALL,
    "direct": config_of(
        L2Config(size=128, ways=1, line_bytes=16, mshrs=2, write_backs=2), data_width=64
    ),
    "ways": config_of(
        L2Config(size=256, ways=8, line_bytes=16, mshrs=8, write_backs=4), data_width=32
    ),
    "beat": config_of(
        L2Config(size=64, ways=2, line_bytes=8, mshrs=4, write_backs=8), data_width=64
    ),
    # Lines in flight match the keys of 3 of 4 others.
    "alike": replace(SMALL, key_width=2, l2=replace(SMALL.l2, mshrs=8, write_backs=8)),
}


@pytest.mark.full
def test_it_converts():
    rtlil.convert(L2Slice(SMALL))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 3000}, "size must be a power of two, not 3000"),
        ({"ways": 32}, "ways must be between 1 and 16, not 32"),
        ({"mshrs": 1}, "mshrs must be between 2 and 256, not 1"),
        ({"write_backs": 3}, "write_backs must be a power of two, not 3"),
        ({"size": 256}, "8 ways x 64 bytes x 2 = 1024 bytes, not 256"),
        ({"no_allocate_sources": (-1,)}, "each of no_allocate_sources must be between 0 and 255"),
    ],
)
def test_what_a_cache_must_be(change, message):
    with pytest.raises(ValueError, match=message):
        L2Config(**change)


def test_sources_are_a_tuple():
    with pytest.raises(TypeError, match=r"must be a tuple of integers, not \[0\]"):
        L2Config(no_allocate_sources=[0])  # must be refused


def test_what_its_place_must_be():
    with pytest.raises(ValueError, match="line_bytes must be a beat of 32 bytes or more, not 16"):
        L2SliceConfig(l2=L2Config(line_bytes=16))
    with pytest.raises(ValueError, match="key_width must be between 1 and 32, not 0"):
        L2SliceConfig(l2=L2Config(), key_width=0)
    with pytest.raises(ValueError, match="no_allocate_sources must be below 8, not 9"):
        L2SliceConfig(l2=L2Config(no_allocate_sources=(9,)))


@pytest.mark.parametrize(("name", "stall"), pairs(CONFIGS, [0.3, 0]))
@pytest.mark.quick(1)
def test_everybody_sees_one_order_of_writes(name, stall):
    """Few lines with constant evictions; then fewer lines, all requested at once."""
    config = CONFIGS[name]
    bench = L2Bench(
        config, random.Random(5), jitter=30 if stall else 0, stall=stall, gated=bool(stall)
    )
    lines = range(3 * config.l2.lines)
    bench.run(
        bench.random_bursts(120, lines=lines, ids=IDS), "flush",
        bench.random_bursts(120, lines=range(3), ids=IDS), "flush",
        bench.random_bursts(60, lines=lines, ids=IDS, writes=0.2),
    )  # fmt: skip
    assert bench.events["read_miss"] and bench.events["write_miss"] and bench.events["write_back"]
    assert not bench.failed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CONFIGS)
def test_one_order_of_writes_for_long(name, seed):
    config, rng = CONFIGS[name], random.Random(100 + seed)
    bench = L2Bench.unsteady(config, rng, seed)
    phases = []
    for _ in range(6):
        lines = range(rng.choice([2, 5, config.l2.lines, 3 * config.l2.lines]))
        phases += [bench.random_bursts(200, lines=lines, ids=IDS, writes=rng.random()), "flush"]
    bench.run(*phases, timeout=60_000)


@pytest.mark.full
def test_slices_share_addresses_line_by_line():
    """The slice has no lines of the other one: all of its sets are used."""
    config = config_of(SMALL.l2, masters=2)
    bench = L2Bench(config, random.Random(2))
    odd = range(1, 2 * config.l2.lines, 2)
    bench.run(bench.writes(CORE, odd), bench.reads(CORE, odd), "flush")
    assert bench.events["write_back"] == config.l2.lines and not bench.fetched


def test_hits_pass_misses_of_other_ids_only():
    bench = L2Bench(SMALL, random.Random(1), latency=100)
    hit, same, miss = (bench.reads(who, [n])[0] for who, n in ((OTHER, 0), (CORE, 0), (CORE, 9)))
    bench.run(bench.reads(CORE, [0]), [miss, hit, same])
    assert hit.ended < miss.since + 10
    assert same.ended > miss.ended > miss.since + 100
    assert len(bench.fetched) == 2


def test_a_line_is_read_once_for_all():
    bench = L2Bench(SMALL, random.Random(1), latency=50)
    bench.run([*bench.reads(CORE, [3]), *bench.reads(OTHER, [3]), *bench.reads(CORE + 1, [3])])
    assert len(bench.fetched) == 1


@pytest.mark.full
def test_reads_past_the_cache_see_writes_in_order():
    """A later DRAM response to an earlier read of an ID must not be newer."""
    bench = L2Bench(SMALL, random.Random(4), latency=8, jitter=40)
    bench.run(*(bench.reads(DMA, [0] * 3) + bench.writes(DMA, [0]) for _ in range(25)))
    assert bench.events["write_stall"]


@pytest.mark.full
def test_writes_read_nothing():
    bench = L2Bench(SMALL, random.Random(1))
    lines = range(3 * SMALL.l2.lines)
    bench.run(bench.writes(CORE, lines, strobes=6), "flush")
    assert not bench.fetched
    assert [count for *_, count in bench.stored] == [4] * len(lines)
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(bench.writes(CORE, [1, 2]), bench.reads(OTHER, [1, 2]))
    assert not bench.fetched
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(bench.writes(CORE, [1], strobes=6), bench.reads(OTHER, [1]), "flush")
    assert len(bench.fetched) == 1


@pytest.mark.full
def test_misses_of_the_dma_leave_nothing_behind():
    bench = L2Bench(SMALL, random.Random(1))
    keep = bench.reads(CORE, range(SMALL.l2.lines))
    stream = range(20, 40)
    again = bench.reads(CORE, range(SMALL.l2.lines))
    bench.run(keep, bench.reads(DMA, stream), bench.writes(DMA, stream), again)
    assert len(bench.fetched) == SMALL.l2.lines + 20  # no line was evicted
    assert len(bench.stored) == 20 and not bench.events["write_back"]
    update, other = bench.writes(DMA, [2]), bench.reads(CORE, [2])
    bench = L2Bench(SMALL, random.Random(1))
    bench.run(bench.reads(CORE, [2]), update, other, "flush")
    assert len(bench.fetched) == 1 and bench.events["write_back"] == 1


def test_only_requested_beats_are_read_past_the_cache():
    bench = L2Bench(SMALL, random.Random(1))
    bench.run([Burst(DMA, bench.base + 32, 1)], [Burst(CORE, bench.base + 32, 1)])
    assert bench.fetched == [(bench.base + 32, 1), (bench.base, 2)]


def test_a_flush_writes_each_line_once():
    bench = L2Bench(SMALL, random.Random(1))
    lines = range(SMALL.l2.lines)
    bench.run(bench.writes(CORE, lines), "flush", "flush", bench.reads(CORE, lines))
    assert len(bench.stored) == SMALL.l2.lines and not bench.fetched


@pytest.mark.full
def test_a_flush_reads_a_set_per_cycle_where_something_was_written():
    """Only the last set but one has dirty lines, all its 4: 2 cycles for each."""
    l2 = L2Config(size=1 << 16, ways=4, mshrs=4, write_backs=8)
    config = config_of(l2, id_width=6, source_width=1)
    sets = config.l2.sets
    bench = L2Bench(config, random.Random(1), span=1 << 16, latency=0)
    bench.run("flush")
    assert bench.cycle <= sets + GROUPS + 8  # all sets were cleared after reset
    before = bench.cycle
    bench = L2Bench(config, random.Random(1), span=1 << 16, latency=0)
    last = bench.writes(CORE, range(sets - 2, 4 * sets, sets))
    bench.run("flush", last, "flush", "flush", last, "flush")
    assert len(bench.stored) == 8
    assert bench.cycle <= before + 3 * GROUPS + 2 * sets // GROUPS + 2 * 50


@pytest.mark.parametrize("evicts", ["reads", "writes"])
def test_a_read_waits_for_bytes_that_are_on_their_way(evicts):
    """Line 0 is evicted by line 4 and requested again, until its write-back ends and as it ends.

    Line 4 is in flight after a read of it, so the request passes the cache; a write allocates it at
    once, so line 0 is refilled.
    """
    config = config_of(L2Config(size=256, ways=1, mshrs=4))
    bench = L2Bench(config, random.Random(3), latency=1, jitter=8)
    hit, phases = bench.reads(CORE, [1], beats=1), []
    for hits in [*range(13)] * 3:
        evicting = bench.reads(CORE, [4], beats=1) if evicts == "reads" else bench.writes(CORE, [4])
        phases += [
            bench.writes(CORE, [0], strobes=1),
            [*evicting, *bench.reads(OTHER, [1] * hits + [0])],
        ]
    bench.run(hit, *phases)
    assert bench.events["write_back"] == {"reads": 39, "writes": 74}[evicts]


@pytest.mark.full
def test_errors_are_passed_on():
    broken = range(0x8000_0000, 0x8000_0020)
    bench = L2Bench(SMALL, random.Random(1), broken=broken)
    dma, core, joined = (bench.reads(who, [0])[0] for who in (DMA, CORE, OTHER))
    late = bench.reads(CORE, [0])[0]
    past = bench.writes(DMA, [0])[0]
    fine = bench.reads(CORE, [1])[0]
    bench.run([dma], [core, joined], [late], [fine])
    for burst in (dma, core, joined, late):
        assert burst.codes == [2, 0]
    assert fine.codes == [0, 0] and not bench.failed
    bench = L2Bench(SMALL, random.Random(1), broken=broken)
    bench.run([past])
    assert past.codes == [2] and not bench.failed


def test_replies_of_an_id_keep_their_order():
    """A response that is ready at once waits for earlier ones from DRAM."""
    bench = L2Bench(SMALL, random.Random(1), broken=range(0x8000_0000, 0x8000_0020), latency=20)
    past, hit = bench.writes(DMA, [0, 2])
    bench.run(bench.reads(CORE, [2]), [past, hit])
    assert (past.codes, hit.codes) == ([2], [0])
    assert past.ended < hit.ended


def test_a_lost_write_back_is_reported():
    bench = L2Bench(SMALL, random.Random(1), broken=range(0x8000_0000, 0x8000_0040))
    write = bench.writes(CORE, [0])[0]
    bench.run([write], bench.writes(CORE, [4, 8]))
    assert write.codes == [0] and bench.failed == 1
