"""Tests of atomics in an L2 slice: results, one order with all other accesses, and throughput."""

import random
from dataclasses import replace

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.l2.layouts import L2SliceConfig
from support.memory.l2_atomic_bench import L2AtomicBench
from support.slow_cases import pairs

#: An ID of the DMA, whose misses do not allocate, and two of cores.
DMA, CORE, OTHER = 0, 0x20, 0x41
#: Ids of all sources.
IDS = [DMA, DMA + 1, CORE, CORE + 1, OTHER]


def config_of(l2: L2Config, **place) -> L2SliceConfig:
    """Return a slice of all addresses with atomics."""
    return L2SliceConfig(l2=l2, **{"masters": 1, "owner_width": 1, "reservations": 2, **place})


SMALL = config_of(L2Config(size=512, ways=2, mshrs=4, write_backs=4, prefetch=0))
AHEAD = config_of(L2Config(size=512, ways=2, mshrs=8, write_backs=4, prefetch=4))
CONFIGS = {
    "small": SMALL,
    "ahead": AHEAD,
    "direct": config_of(
        L2Config(size=128, ways=1, line_bytes=16, mshrs=2, write_backs=2, prefetch=0),
        data_width=64,
    ),
    "ways": config_of(
        L2Config(size=512, ways=8, line_bytes=32, mshrs=8, write_backs=4, prefetch=2),
        data_width=64, reservations=1,
    ),
    "beat": config_of(
        L2Config(size=64, ways=2, line_bytes=8, mshrs=4, write_backs=8, prefetch=0),
        data_width=64, reservations=5,
    ),
    # Lines in flight match the keys of 3 of 4 others.
    "alike": replace(
        SMALL, key_width=2, l2=replace(SMALL.l2, mshrs=8, write_backs=8, early_write_backs=2)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "stall"), pairs(CONFIGS, [0.3, 0]))
@pytest.mark.quick(1)
def test_atomics_are_in_one_order_with_all_accesses(name, stall):
    """Few lines with constant evictions; then few words, all requested at once."""
    config = CONFIGS[name]
    bench = L2AtomicBench(
        config, random.Random(5), jitter=30 if stall else 0, stall=stall, gated=bool(stall)
    )
    lines = range(3 * config.l2.lines)
    words = range(3 * config.l2.lines * config.l2.line_bytes // 4)
    bench.run(
        bench.mixed(120, lines=lines, ids=IDS, words=words), "flush",
        bench.mixed(120, lines=range(2), ids=IDS, words=range(3)), "flush",
        bench.mixed(100, lines=range(2), ids=[CORE], words=range(2), writes=0.05), "flush",
        bench.mixed(60, lines=lines, ids=IDS, words=words, atomics=0.8),
    )  # fmt: skip
    assert bench.events["read_miss"] and bench.events["write_miss"] and bench.events["write_back"]
    assert bench.counts["retries"] and bench.counts["stored"]
    assert not bench.failed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CONFIGS)
def test_one_order_for_long(name, seed):
    config, rng = CONFIGS[name], random.Random(100 + seed)
    bench = L2AtomicBench.unsteady(config, rng, seed)
    phases = []
    for _ in range(6):
        lines = range(rng.choice([2, 5, config.l2.lines, 3 * config.l2.lines]))
        words = range(rng.choice([1, 4, len(lines) * config.l2.line_bytes // 4]))
        rates = {"writes": rng.random() / 2, "atomics": rng.random()}
        phases += [bench.mixed(200, lines=lines, ids=IDS, words=words, **rates), "flush"]
    bench.run(*phases, timeout=60_000)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"data_width": 32}, "data_width must be 64 or more with atomics, not 32"),
        ({"owner_width": 17}, "owner_width must be between 0 and 16, not 17"),
        ({"owner_width": -1}, "owner_width must be between 0 and 16, not -1"),
        ({"reservations": 33}, "reservations must be between 1 and 32, not 33"),
    ],
)
def test_what_its_place_must_be(place, message):
    with pytest.raises(ValueError, match=message):
        config_of(SMALL.l2, **place)


def test_a_word_in_the_cache_is_done_at_once():
    """Without a fetch, with the latency of a write and 1 cycle for the result."""
    bench = L2AtomicBench(SMALL, random.Random(1), latency=40)
    atomic = bench.atomic(CORE, 3, operand=5)
    bench.run(bench.writes(CORE, [0]), [atomic])
    assert not bench.fetched and atomic.ended - atomic.since == 4


@pytest.mark.parametrize("identity", [CORE, DMA])
def test_an_atomic_allocates_its_line_whatever_its_source(identity):
    bench = L2AtomicBench(SMALL, random.Random(1))
    first, second = bench.atomics(identity, [3, 4])
    bench.run([first], [second], "flush")
    assert bench.fetched == [(bench.base, 2)]
    assert bench.events["write_miss"] == 1 and not bench.events["prefetch"]
    assert len(bench.stored) == 1


@pytest.mark.parametrize("strobes", [0xF, 1 << 12])
def test_bytes_that_are_not_valid_are_fetched(strobes):
    """A line of which a write made some bytes valid, those of the word or others."""
    bench = L2AtomicBench(SMALL, random.Random(2))
    bench.run(bench.writes(CORE, [0], strobes), bench.atomics(OTHER, [0, 3, 8]), "flush")
    assert bench.fetched == [(bench.base, 2)]


def test_loads_leave_a_line_clean():
    bench = L2AtomicBench(SMALL, random.Random(3))
    loads = [
        bench.atomic(CORE, word, operation)
        for word in range(4)
        for operation in (AtomicOperation.LOAD, AtomicOperation.LR)
    ]
    bench.run(loads, "flush")
    assert not bench.stored


def test_it_waits_for_bytes_that_are_on_their_way():
    """Line 0 is evicted by a write of line 4, and fetched when its write-back has ended."""
    config = config_of(L2Config(size=256, ways=1, mshrs=4, prefetch=0))
    bench = L2AtomicBench(config, random.Random(3), latency=1, jitter=8)
    phases = []
    for _ in range(20):
        phases += [bench.writes(CORE, [0]), [*bench.writes(CORE, [4]), bench.atomic(OTHER, 5)]]
    bench.run(*phases)
    assert bench.events["write_back"] >= 20 and bench.counts["retries"] >= 20


def test_reads_that_wait_for_its_line_see_values_in_order():
    """Reads of three ids wait for a line, before and after an atomic that waits for it."""
    bench = L2AtomicBench(SMALL, random.Random(4), latency=20, jitter=20)
    phases = []
    for line in range(0, 60, 2):
        before = [*bench.reads(CORE, [line]), *bench.reads(OTHER, [line, line + 1])]
        atomics = bench.atomics(CORE, [16 * line, 16 * line + 9, 16 * line])
        phases.append([
            *before,
            *atomics,
            *bench.reads(DMA, [line, line]),
            *bench.reads(CORE, [line]),
        ])
    bench.run(*phases)
    assert bench.counts["retries"]


def test_a_prefetch_of_its_line_is_filled_beside_reads():
    """Reads of one line look up in each cycle, so that the fill of a prefetch is deferred."""
    config = replace(AHEAD, l2=replace(AHEAD.l2, size=4096, prefetch=4))
    bench = L2AtomicBench(config, random.Random(1), latency=30)
    hits, atomic = bench.reads(OTHER, [20] * 300), bench.atomic(CORE, 16 * 4)
    stream = bench.reads(CORE, range(3))
    bench.run("idle", bench.reads(OTHER, [20]), *([read] for read in stream), [*hits, atomic])
    assert atomic.ended - atomic.since < 80
    assert sum(read.ended < atomic.since for read in hits) < 100


def test_replies_of_an_id_keep_their_order():
    """Its result waits for the reply to a write past the cache."""
    bench = L2AtomicBench(SMALL, random.Random(1), latency=30)
    warm, past = bench.reads(CORE, [2]), bench.writes(DMA, [0])
    own, other = bench.atomic(DMA, 32), bench.atomic(DMA + 1, 33)
    bench.run(warm, [*past, own, other])
    assert own.ended > past[0].ended > past[0].since + 30
    assert own.done > past[0].since + 30


def test_a_line_that_dram_refuses_is_an_error():
    broken = range(0x8000_0000, 0x8000_0020)
    bench = L2AtomicBench(SMALL, random.Random(1), broken=broken)
    refused, again, fine, beside = bench.atomics(CORE, [1, 1, 16, 9])
    bench.run([refused], [again, fine], [beside], bench.reads(OTHER, [0]), "flush")
    assert [refused.codes, again.codes, fine.codes, beside.codes] == [[2], [2], [0], [0]]
    assert not bench.failed
    # An error of another line, which arrives while the atomic waits, is not its own.
    bench = L2AtomicBench(SMALL, random.Random(1), broken=broken, latency=20)
    late = bench.atomic(CORE, 17)
    bench.run("idle", [*bench.reads(OTHER, [0]), late])
    assert late.codes == [0]
    # A whole beat that was written is valid, whatever DRAM says.
    written = bench.writes(CORE, [0])[0]
    written.writes = (written.writes or [])[:1]
    bench = L2AtomicBench(SMALL, random.Random(1), broken=broken)
    late = bench.atomic(CORE, 1)
    bench.run([written], [late])
    assert late.codes == [0] and not bench.fetched


def test_a_flush_takes_results_along():
    bench = L2AtomicBench(SMALL, random.Random(6))
    bench.run(
        *(phase for word in (0, 16, 5, 40) for phase in (bench.atomics(CORE, [word] * 3), "flush"))
    )
    assert len(bench.stored) == 4


def atomics_per_cycle(words, operation: AtomicOperation) -> float:
    """Return the atomics per cycle on words of one line in the cache."""
    bench = L2AtomicBench(SMALL, random.Random(1))
    atomics = bench.atomics(CORE, words, operation)
    bench.run(bench.writes(CORE, [0, 1]), atomics)
    assert not bench.fetched and not bench.counts["retries"]
    return (len(atomics) - 1) / (atomics[-1].ended - atomics[0].ended)


@pytest.mark.parametrize("operation", [AtomicOperation.ADD, AtomicOperation.CAS])
def test_one_atomic_is_done_per_cycle(operation):
    """On distinct words, and repeatedly on one word, whose last value is forwarded."""
    assert atomics_per_cycle([n % 32 for n in range(64)], operation) == 1
    assert atomics_per_cycle([5] * 64, operation) == 1


def test_a_reservation_lasts_for_its_time_and_ends_with_a_write_past_the_cache():
    bench = L2AtomicBench(SMALL, random.Random(1), gated=True)
    lr, sc = (
        lambda word, op=op, **fields: bench.atomic(CORE, word, op, **fields)
        for op in (AtomicOperation.LR, AtomicOperation.SC)
    )
    pair = [lr(3), sc(3)]
    written = [lr(3), *bench.writes(OTHER, [0], strobes=1 << 12), sc(3)]
    beside = [lr(3), *bench.writes(OTHER, [0], strobes=1 << 16), sc(3)]
    atomic = [lr(3), bench.atomic(DMA, 3, AtomicOperation.SWAP), sc(3)]
    # The line is evicted, and written past the cache.
    reads = bench.reads(CORE, [4, 8])
    evicted = [lr(3)], *([read] for read in reads), bench.writes(DMA, [0]), [sc(3)]
    aged = [lr(3)], "idle", [sc(3)]
    bench.run(pair, written, beside, atomic, *evicted, *aged, "flush")
    results = [burst.result for burst in (pair[1], written[2], beside[2], atomic[2])]
    assert results == [0, 1, 0, 1]
    assert [evicted[-1][0].result, aged[-1][0].result] == [1, 1]
    assert aged[2][0].done - aged[0][0].done > 256
