"""Tests of the data cache: one order per beat for any memory timing, and its latencies."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import CacheConfig
from spica.hw.memory.l1.data_cache import DataCache
from spica.hw.memory.l1.data_cache_layouts import DataCacheConfig
from spica.hw.memory.l1.flushable_tag_array import EPOCHS
from spica.sim.golden.memory.l1.data_cache import OrderedMemory
from spica.synth.budgets import too_deep
from spica.synth.measure import measure
from support.memory.data_cache_bench import DataCacheBench, Write

CELLS = 930


def config_of(*, beat_bytes: int = 16, waiters: int = 8, **cache) -> DataCacheConfig:
    """Return a data cache; most are tiny, so that lines evict each other."""
    return DataCacheConfig(
        cache=CacheConfig(prefetch=0, **cache),
        beat_bytes=beat_bytes,
        word_bytes=beat_bytes,
        waiters=waiters,
        context_width=5,
    )


CONFIGS = {
    "small": config_of(size=256, ways=2, line_bytes=32, mshrs=4),
    "direct": config_of(size=64, ways=1, line_bytes=32, mshrs=2, waiters=4),
    "ways": config_of(size=512, ways=4, line_bytes=64, mshrs=8, waiters=16),
    "beat": config_of(size=128, ways=2, line_bytes=16, mshrs=3),
    "one": config_of(beat_bytes=8, size=16, ways=1, line_bytes=8, mshrs=1, waiters=1),
    "core": config_of(beat_bytes=32, waiters=16),
}


ATOMIC_CONFIGS = {
    name: replace(CONFIGS[name], owner_width=3) for name in ("small", "direct", "beat", "one")
}


def requests(rng: random.Random, config: DataCacheConfig, count: int, beats: int):
    """Return reads and writes of few beats, often near earlier ones, with extremes.

    With atomics half of the writes are some.
    """
    size, at, reads, writes = config.beat_bytes, 0, [], []
    for _ in range(count):
        near = (at + rng.choice([0, 1])) % beats
        at = rng.choice([near, rng.randrange(beats)])
        if rng.random() < 0.65:
            reads.append(at)
        else:
            strobes = rng.choice([0, 1, (1 << size) - 1, 1 << size - 1, rng.getrandbits(size)])
            is_atomic = config.owner_width is not None and rng.random() < 0.5
            writes.append(Write(at, rng.randbytes(size), strobes, is_atomic))
    return reads, writes


@pytest.mark.parametrize("latency, jitter, stall", [(2, 0, 0.0), (30, 0, 0.0), (5, 40, 0.3)])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick("small-2-*", "direct-30-*", "one-30-*")
def test_requests_take_effect_in_their_order(name, latency, jitter, stall):
    config, rng = CONFIGS[name], random.Random(f"{name} {latency} {stall}")
    beats = min(2 * config.cache.lines * config.beats, 64)
    bench = DataCacheBench(
        config, rng, latency=latency, jitter=jitter, stall=stall, broken=[3], refused=[5]
    )
    apart, count = 60 + 4 * config.cache.sets, 60 if name == "one" else 200
    drops = set(range(25, 3000, apart))
    changes = drops | set(range(60, 3000, 2 * apart))
    bench.run(*requests(rng, config, count, beats), invalidations=drops, changes=changes)
    events = bench.events
    assert events["reads"] == len(bench.latencies) > count // 2
    assert events["writes"] == count - events["reads"]
    assert events["misses"] == len(bench.lines_read)


@pytest.mark.parametrize("latency, jitter, stall", [(2, 0, 0.0), (5, 40, 0.3)])
@pytest.mark.parametrize("name", ATOMIC_CONFIGS)
@pytest.mark.quick("small-2-*", "direct-5-*")
def test_atomics_take_effect_in_the_order_of_requests(name, latency, jitter, stall):
    """No read returns a beat from before an atomic, from the cache or from a refill."""
    config, rng = ATOMIC_CONFIGS[name], random.Random(f"{name} {latency} {stall}")
    bench = DataCacheBench(
        config, rng, latency=latency, jitter=jitter, stall=stall, broken=[3], refused=[5]
    )
    drops = set(range(150, 3000, 300))
    bench.run(*requests(rng, config, 300, 12), invalidations=drops, changes=drops)
    assert bench.events["misses"] == len(bench.lines_read)


def test_an_atomic_takes_two_cycles_and_its_line_from_the_cache():
    config = replace(CORE, owner_width=3)
    bench = core_bench(2, config)
    bench.run([0, 0])
    assert len(bench.lines_read) == 1
    bench.run([], [Write(0, bytes(config.beat_bytes), FULL, is_atomic=True) for _ in range(4)])
    gaps = {b - a for a, b in zip(bench.writes, bench.writes[1:], strict=False)}
    assert gaps == {2}
    bench.run([0])
    assert len(bench.lines_read) == 2


def test_seldom_things_happen_at_random():
    """A stream without conflicts would prove little."""
    config, rng = CONFIGS["direct"], random.Random(5)
    bench = DataCacheBench(config, rng, latency=8, jitter=20, broken=[3], refused=[5])
    seen = set()
    before = bench.settle

    def settle(seen_now, willing):
        offers, held = bench.offers, {bench.line_of(line[0][2]) for line in bench.lines}
        if offers["write"] and not seen_now["write"]:
            line = bench.line_of(offers["write"]["beat"] - bench.first)
            seen.update(["held for a line"] * (line in held))
        if offers["line"] and not seen_now["line"]:
            seen.add("a beat is refused")
        if len(bench.lines) == 2 and bench.lines[0][0][1] != bench.lines[1][0][1]:
            seen.add("two lines")
        return before(seen_now, willing)

    bench.settle = settle
    reads, writes = requests(rng, config, 400, 12)
    bench.run(reads, writes, invalidations=set(range(100, 2000, 150)))
    assert seen == {"held for a line", "a beat is refused", "two lines"}
    assert min(bench.events.values()) > 10  # joins, waits for MSHRs and for order
    assert bench.events["reads"] > bench.events["misses"] + bench.events["joins"]
    assert bench.errors["reads"] > 3 < bench.errors["writes"]


def test_a_wrong_byte_is_found():
    model = OrderedMemory(4, lambda beat: bytes([beat] * 4))
    model.write(7, bytes([1, 2, 3, 4]), 0b0010)
    model.read(0, 7)
    model.write(7, bytes([9] * 4), 0b1111)
    model.answer(0, bytes([7, 2, 7, 7]))
    model.read(0, 7)
    with pytest.raises(AssertionError, match=r"beat 0x7 has wrong bytes \[1\]"):
        model.answer(0, bytes([9, 2, 9, 9]))


def test_what_others_write_is_right_either_way_until_it_is_forgotten():
    model = OrderedMemory(1, lambda beat: b"a")
    for number in range(2):
        model.read(number, 0)
    model.change(0, b"b")
    model.answer(0, b"a")
    model.answer(1, b"b")
    model.write(0, b"x", 1, fails=True)
    for number, answer in enumerate((b"a", b"b", b"x")):
        model.read(number, 0)
        model.answer(number, answer)
    model.drop_old()
    model.read(0, 0)
    with pytest.raises(AssertionError, match="wrong bytes"):
        model.answer(0, b"a")


CORE = CONFIGS["core"]
SWEEP = [None] * (CORE.cache.sets + 2)  # the tags are cleared after reset
FULL = (1 << CORE.beat_bytes) - 1
MOST = CORE.cache.mshrs


def store(beat: int, value: int = 1, strobes: int = FULL) -> Write:
    """Return a write of one byte; all such writes are equal."""
    return Write(beat, bytes([value] * CORE.beat_bytes), strobes)


def core_bench(latency: int = 20, config: DataCacheConfig = CORE, **more) -> DataCacheBench:
    """Return a bench without random pauses."""
    return DataCacheBench(config, random.Random(1), latency=latency, **more)


def test_latency_is_as_stated():
    bench = core_bench()
    # The line is requested after 2 cycles, its first beat read in 20, and answered after 1 more.
    bench.run([*SWEEP, 0, *[None] * 40, 0, 1])
    assert bench.latencies == [2 + 20 + 1, 1, 1]
    assert bench.lines_read == [0]
    bench = core_bench()
    bench.run([*SWEEP, 1])
    assert bench.latencies == [2 + 20 + 1 + 1]


def test_all_requests_of_a_line_are_answered_one_per_cycle():
    bench = core_bench()
    bench.run([*SWEEP, 1, 0, 1, 1, 0])
    assert sorted(bench.cycles) == list(range(min(bench.cycles), min(bench.cycles) + 5))
    assert sum(bench.latencies) == 5 * 23  # the lowest number first
    assert bench.lines_read == [0]
    assert bench.events["joins"] == 4


def test_beats_that_are_there_follow_each_other():
    there = range(64)
    bench = core_bench()
    bench.run([*SWEEP, *there, *[None] * 60, *there])
    assert bench.latencies[64:] == [1] * 64
    assert bench.cycles[-1] - bench.cycles[64] == 63
    assert len(bench.lines_read) == 32


def test_reads_and_writes_alternate_where_both_are_there():
    there, pauses = range(64), [None] * 200
    far = range(1064, 1128)  # in other sets
    bench = core_bench(latency=2)
    bench.run(
        [*SWEEP, *there, *pauses, *there],
        [*SWEEP, *[None] * 263, *map(store, far)],
    )
    assert bench.cycles[-1] - bench.cycles[64] in range(63 + 60, 63 + 68)
    assert bench.latencies[64:] == [1] * 64
    assert len(bench.lines_read) == 32  # none for a write


def test_writes_of_lines_that_are_there_follow_each_other():
    bench = core_bench(latency=2)
    beats = range(32)
    bench.run(
        [*SWEEP, *beats, *[None] * 150, *beats],
        [*SWEEP, *[None] * 100, *(store(beat, beat) for beat in beats)],
    )
    assert bench.writes[-1] - bench.writes[0] == 31
    assert bench.latencies[32:] == [1] * 32  # the model compares their values
    assert len(bench.lines_read) == 16


def test_a_write_is_not_kept_waiting_by_reads_of_its_line():
    bench = core_bench(latency=2)
    bench.run([*SWEEP, 0, *[None] * 30, *[0, 1] * 20], [*SWEEP, *[None] * 41, *[store(0, 5)] * 3])
    assert bench.writes[-1] - bench.writes[0] <= 6
    assert bench.cycles[-1] - bench.writes[-1] > 20


def test_a_read_is_not_kept_waiting_by_writes_to_its_beat():
    bench = core_bench(latency=2)
    writes = [store(0, n) for n in range(20)]
    bench.run([*SWEEP, 0, *[None] * 39, 0], [*SWEEP, *[None] * 30, *writes])
    assert bench.writes[-1] - bench.writes[0] <= 19 + 3
    assert bench.cycles[-1] < bench.writes[-1] - 5


def test_a_write_is_not_kept_waiting_by_beats_that_arrive():
    bench = core_bench(latency=30)
    bench.run(
        [*SWEEP, *(130 * n for n in range(MOST))],
        [*SWEEP, *[None] * 35, *(store(2000 + beat) for beat in range(4))],
    )
    active = range(min(bench.cycles), max(bench.cycles))
    assert all(cycle in active for cycle in bench.writes)
    assert bench.writes[-1] - bench.writes[0] <= 7  # every other cycle


def test_misses_are_under_way_together():
    far_apart = [130 * n for n in range(MOST)]
    bench = core_bench(latency=100)
    bench.run([*SWEEP, *far_apart])
    assert max(bench.latencies) <= 2 + 100 + 2 * MOST + 2
    assert bench.events["entry_waits"] == 0
    # One more waits for an MSHR, and so does the next request.
    bench = core_bench(latency=100)
    bench.run([*SWEEP, *far_apart, 130 * MOST, 0])
    assert max(bench.latencies) > 190
    assert bench.events["entry_waits"] > 80


@pytest.mark.full
def test_lines_that_were_never_read_flow():
    """Arriving beats are answered without the arrays: nearly a beat per cycle."""
    config = replace(CORE, waiters=64)
    bench = core_bench(latency=10, config=config)
    bench.run([*SWEEP, *range(256)])
    assert bench.cycles[-1] - bench.cycles[0] < 1.1 * 256
    assert len(bench.lines_read) == 128


def test_a_hit_waits_for_the_beat_answered_in_its_cycle():
    bench = core_bench(latency=20)
    # Beats of the missing line arrive 22 and 23 cycles after its read.
    bench.run([*SWEEP, 0, *[None] * 40, 500, 501, *[None] * 20, 0, 1, 0])
    assert bench.latencies == [23, 23, 23, 3, 1, 1]


def test_a_write_waits_for_a_line_that_is_being_read_and_holds_nobody():
    bench = core_bench(latency=50)
    bench.run(
        [*SWEEP, 400, *[None] * 80, 0, 400, 401, *[None] * 80, 0],
        [*SWEEP, *[None] * 83, store(0, 7)],
    )
    assert bench.latencies == [53, 1, 1, 53, 1]
    assert bench.events["order_waits"] > 40
    assert bench.lines_read == [400, 0]


def test_a_missing_line_waits_for_writes_to_it():
    bench = core_bench(latency=50)
    bench.run([*SWEEP, None, 1], [*SWEEP, store(0, 9)])
    assert bench.latencies[0] > 50 + 50
    assert bench.events["order_waits"] > 40
    bench = core_bench(latency=50)
    bench.run([*SWEEP, None, 2], [*SWEEP, store(0, 9)])
    assert bench.latencies == [53]


@pytest.mark.full
def test_waits_for_memories_are_counted_apart():
    bench = core_bench()
    bench.run([0])
    assert bench.events["bank_waits"] == CORE.cache.sets  # the tags are cleared after reset
    # Hits wait for nothing; waits for an MSHR or for room are not waits for memories.
    there = [*SWEEP, 0, *[None] * 40]
    bench = core_bench()
    bench.run([*there, *[0, 1] * 20])
    assert bench.events["bank_waits"] == 0
    bench = core_bench(latency=100)
    bench.run([*SWEEP, *(130 * n for n in range(MOST + 1)), 0])
    assert bench.events["bank_waits"] == 0 < bench.events["entry_waits"]
    # If a read and a write come in every cycle, one of them waits.
    bench = core_bench(latency=2)
    bench.run([*there, *[0] * 20], [*SWEEP, *[None] * 41, *(store(500 + 2 * n) for n in range(20))])
    assert bench.events["bank_waits"] in range(2 * 20 - 2, 2 * 20 + 2)
    # Beats that arrive for one read each delay nothing. Later reads of a beat are replayed: seven,
    # and two accepted while the second beat waits for them, before it may wait no longer.
    bench = core_bench(config=replace(CORE, waiters=64))
    bench.run([*SWEEP, *range(256)])
    assert bench.events["bank_waits"] < 10
    bench = core_bench(config=replace(CORE, waiters=64))
    bench.run([*SWEEP, *[0] * 8, *[None] * 15, *[0] * 8])
    assert bench.events["bank_waits"] == 2 + 7 + 2


def test_a_write_to_no_line_reads_none():
    bench = core_bench()
    bench.run((), [*SWEEP, *(store(beat) for beat in range(20))])
    assert bench.lines_read == []
    assert bench.held(19)[0] == 1


def test_an_invalidation_holds_nobody():
    bench = core_bench()
    reads = [0, *[None] * 40, 0]  # the second in the cycle after the answer
    bench.run([*SWEEP, *reads], invalidations={len(SWEEP) + 40})
    assert bench.latencies == [23, 23]
    assert bench.lines_read == [0, 0]
    first, second = bench.cycles
    assert second - first == 41


@pytest.mark.parametrize("times", range(EPOCHS - 1, EPOCHS + 2))
def test_what_was_invalidated_often_does_not_reappear(times):
    bench, start = core_bench(), len(SWEEP) + 40
    invalidated = set(range(start, start + times))
    bench.run([*SWEEP, 0, *[None] * (40 + times), *SWEEP, 0, 1], invalidations=invalidated)
    assert bench.lines_read == [0, 0]


@pytest.mark.parametrize("broken", [0, 1])
def test_what_cannot_be_read_is_not_kept(broken):
    bench = core_bench(broken=[broken])
    bench.run([*SWEEP, 0, 1, *[None] * 40, 1 - broken])
    assert bench.errors["reads"] == 1
    assert bench.lines_read == [0, 0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"word_bytes": 8}, "word_bytes must equal beat_bytes, 32, not 8"),
        ({"cache": CacheConfig()}, "cache.prefetch must be 0 in a data cache, .*, not 6"),
    ],
)
def test_what_it_cannot_be_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        replace(CORE, **fields)


@pytest.mark.full
def test_cells_and_depth_are_within_budget():
    measured = measure(DataCache(CORE), "data_cache")
    assert measured.cells <= CELLS
    assert too_deep(measured) == {}
