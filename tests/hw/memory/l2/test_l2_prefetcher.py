"""Tests of prefetching in an L2 slice: values unaffected, timing only."""

import random
from collections import deque
from dataclasses import replace

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.isa.memory_map import DRAM_END
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.hw.memory.l2.prefetcher import L2Prefetcher
from spica.sim.engine.testbench import require_no_loop, simulate
from support.memory.l2_bench import Burst, L2Bench
from support.slow_cases import fast_only, pairs

AHEAD = 4
CONFIG = L2SliceConfig(
    l2=L2Config(size=4096, ways=2, mshrs=8, write_backs=4, prefetch=AHEAD), masters=1
)
SMALL = replace(CONFIG, l2=replace(CONFIG.l2, size=512))
DMA, CORE, OTHER = 0, 0x20, 0x41
LATENCY = 60


def lines_of(bench: L2Bench) -> list[int]:
    """Return the lines that were read from DRAM."""
    return [(address - bench.base) // bench.config.l2.line_bytes for address, *_ in bench.fetched]


def one_by_one(config: L2SliceConfig, lines, *, identity: int = CORE, **bench) -> L2Bench:
    """Request lines, each after the previous one has arrived.

    Nothing is prefetched while the slice is cleared after the reset.
    """
    bench = L2Bench(config, random.Random(1), span=8192, latency=LATENCY, **bench)
    bursts = bench.reads(identity, lines)
    bench.run("idle", *([burst] for burst in bursts))
    bench.cycle -= bursts[0].since
    return bench


@pytest.mark.full
def test_a_stream_waits_for_dram_only_at_its_beginning():
    without = replace(CONFIG, l2=replace(CONFIG.l2, prefetch=0))
    count = 40
    assert one_by_one(without, range(count)).cycle > count * LATENCY
    bench = one_by_one(CONFIG, range(count))
    assert bench.cycle < (count / AHEAD + 4) * (LATENCY + 20)
    assert lines_of(bench) == [*range(count + AHEAD)]
    assert bench.events["prefetch"] == count + AHEAD - 2
    assert bench.events["read"] == count


def test_lines_that_are_read_ahead_leave_room_for_others():
    """At most three quarters of the MSHRs; each prefetch starts in the cycle after its offer."""
    config, offered = replace(CONFIG, l2=replace(CONFIG.l2, prefetch=16)), []
    unit = require_no_loop(L2Prefetcher(config))

    async def drive(ctx):
        ctx.set(unit.o.ready, 1)
        ctx.set(unit.lookup.missed, 1)
        for cycle in range(60):
            ctx.set(unit.lookup.demand, cycle in (0, 4))
            ctx.set(unit.lookup.line, 1000 + (cycle >= 4))
            ctx.set(unit.lookup.begun, bool(offered and offered[-1]))
            ctx.set(unit.lookup.finished, cycle in (50, 51))
            offered.append(ctx.get(unit.o.valid))
            await ctx.tick()

    simulate(unit, drive)
    most = 3 * CONFIG.l2.mshrs // 4
    assert most - 1 <= sum(offered[:50]) <= most
    assert sum(offered[50:]) in (1, 2)


@pytest.mark.parametrize("lines", [range(0, 40, 2), range(40, 0, -1)])
@pytest.mark.full
def test_only_requested_lines_are_read(lines):
    bench = one_by_one(CONFIG, lines)
    assert lines_of(bench) == [*lines] and not bench.events["prefetch"]


@pytest.mark.full
def test_nothing_is_read_ahead_of_those_who_leave_no_lines():
    bench = one_by_one(CONFIG, range(20), identity=DMA)
    assert lines_of(bench) == [*range(20)]


@pytest.mark.full
def test_slices_of_one_memory_read_ahead_of_their_own_lines():
    bench = one_by_one(replace(CONFIG, masters=2), range(1, 41, 2))
    assert lines_of(bench) == [*range(1, 41 + 2 * AHEAD, 2)]


def test_nothing_is_read_beyond_dram():
    size = CONFIG.l2.line_bytes
    count = 6
    bench = one_by_one(CONFIG, range(count), base=DRAM_END - (count + 2) * size)
    assert lines_of(bench) == [*range(count + 2)]


@pytest.mark.full
def test_what_cannot_be_read_ahead_is_an_error_of_its_requester():
    broken = range(0x8000_0000 + 6 * 64, 0x8000_0000 + 7 * 64)
    bench = L2Bench(CONFIG, random.Random(1), latency=LATENCY, broken=broken)
    bursts = bench.reads(CORE, range(6))
    bench.run(*([burst] for burst in bursts))
    assert 6 in lines_of(bench) and all(burst.codes == [0, 0] for burst in bursts)
    bench = L2Bench(CONFIG, random.Random(1), latency=LATENCY, broken=broken)
    bursts = bench.reads(CORE, range(8))
    bench.run(*([burst] for burst in bursts))
    assert [n for n, burst in enumerate(bursts) if any(burst.codes)] == [6]


@pytest.mark.full
def test_a_demand_miss_takes_over_the_slot_of_its_line():
    """Ten lines being prefetched and ten demand misses on them fit sixteen MSHRs."""
    config = replace(CONFIG, l2=replace(CONFIG.l2, mshrs=16, prefetch=10))
    base = DRAM_END - 12 * CONFIG.l2.line_bytes
    bench = L2Bench(config, random.Random(1), base=base, span=768, latency=200)
    first, second = bench.reads(CORE, [0, 1])
    late = [bench.reads(CORE + n, [n])[0] for n in range(2, 12)]
    # The flush ends after the sweep, in which nothing is prefetched.
    bench.run("flush", [first], [second, *bench.reads(OTHER, [0] * 40), *late])
    assert lines_of(bench) == [*range(12)] and bench.events["prefetch"] == 10
    assert bench.events["read_miss"] == 12 and not bench.events["mshr_stall"]
    assert all(second.since + 200 < read.ended < second.since + 250 for read in late)


@pytest.mark.parametrize("stall", fast_only([0], [0, 0.3]))
@pytest.mark.full
def test_a_slot_is_taken_over_in_whatever_cycle_its_line_arrives(stall):
    bench = L2Bench(
        replace(CONFIG, l2=replace(CONFIG.l2, size=16384)), random.Random(7), span=1 << 15,
        latency=20, stall=stall,
    )  # fmt: skip
    phases = []
    for pause in range(40):
        lines = range(8 * pause, 8 * pause + 5)
        first, second, *others = bench.reads(CORE, lines)
        others += [*bench.reads(DMA, lines[3:1:-1]), *bench.reads(OTHER, lines[4:])]
        phases += [[first], [second, *bench.reads(OTHER, [lines[0]] * pause), *others]]
    bench.run(*phases)
    assert len(lines_of(bench)) == len({*lines_of(bench)}) >= 5 * 40


@pytest.mark.parametrize(("others", "is_here"), [(15, True), (20, False)])
@pytest.mark.full
def test_a_line_read_ahead_waits_for_who_is_late_and_not_for_ever(others, is_here):
    """Three of four ways are empty; every fourth later line conflicts with it, three times."""
    config = replace(CONFIG, l2=replace(CONFIG.l2, size=2048, ways=4))
    bench = L2Bench(config, random.Random(1), span=1 << 15, latency=LATENCY)
    elsewhere = [5 + 8 * n for n in range(40 + others, 40, -1)]
    bench.run(
        *([read] for read in bench.reads(CORE, [0, 1])),
        *([read] for read in bench.reads(OTHER, elsewhere)),
        bench.reads(CORE, [5]),
    )
    assert lines_of(bench).count(5) == (1 if is_here else 2)


@pytest.mark.full
def test_a_flush_ends_streams():
    bench = L2Bench(CONFIG, random.Random(1), latency=LATENCY, gated=True)
    before = [[burst] for burst in bench.reads(CORE, range(8))]
    bench.run(*before, "flush", bench.reads(CORE, [10]), "flush")
    assert lines_of(bench).count(10) == 1 and max(lines_of(bench)) < 8 + AHEAD


class BusyBench(L2Bench):
    """A bench whose requester has at most `window` reads in flight, and that counts claims.

    A claim is a read that fills its prefetched line in its own look-up.
    """

    def __init__(self, *arguments, window: int, **options):
        super().__init__(*arguments, **options)
        self.window, self.claims = window, 0

    def offer(self, offers, reads, writes, beats):
        is_open = sum(map(len, self.requested.values())) < self.window
        return super().offer(offers, reads if is_open else deque(), writes, beats)

    async def step(self, ctx, offers):
        self.claims += ctx.get(self.dut.tag_stage.mshrs.claim)
        return await super().step(ctx, offers)


#: Prefetches cover the latency of DRAM.
COVERED = replace(CONFIG, l2=replace(CONFIG.l2, mshrs=16, write_backs=16, prefetch=12))


def busy_with(bench: L2Bench, line: int, cycles: int) -> list[Burst]:
    """Return reads of a beat that is present: one look-up in each cycle."""
    return bench.reads(OTHER, [line] * cycles, beats=1)


def test_a_claimed_line_is_answered_as_fast_as_a_hit():
    bench = BusyBench(CONFIG, random.Random(1), latency=20, window=100)
    (first,), (second,), late = (bench.reads(CORE, [n]) for n in (0, 1, 2))
    rest = [second, *busy_with(bench, 0, 60), *late, *busy_with(bench, 0, 20)]
    bench.run("idle", [first], rest)
    assert bench.claims == 1
    assert late[0].first - late[0].since == 2


def test_a_slice_that_is_idle_fills_lines_before_they_are_read():
    bench = BusyBench(CONFIG, random.Random(1), latency=20, window=100)
    first, second, late = (bench.reads(CORE, [n]) for n in (0, 1, 2))
    # The reads of another id take the same cycles, a beat of each line in turn.
    bench.run(first, second, bench.reads(OTHER, [0] * 60), late)
    assert not bench.claims and lines_of(bench) == [*range(3 + AHEAD)]


def test_an_error_of_a_line_that_waits_to_be_claimed_is_returned_to_its_read():
    broken = range(0x8000_0000 + 2 * 64 + 32, 0x8000_0000 + 3 * 64)
    bench = BusyBench(CONFIG, random.Random(1), latency=20, broken=broken, window=100)
    first, second, late = (bench.reads(CORE, [n]) for n in range(3))
    fine = bench.reads(CORE + 1, [3])
    rest = [*second, *busy_with(bench, 0, 60), *late, *fine, *busy_with(bench, 0, 20)]
    bench.run("idle", first, rest)
    assert late[0].codes == [0, 2] and fine[0].codes == [0, 0]
    assert bench.claims == 1


@pytest.mark.parametrize("wait", fast_only(range(0, 40, 6), range(0, 40, 3)))
@pytest.mark.parametrize(("early", "lines"), [(28, (2,)), (2, (2, 9, 10, 3)), (1, (2, 9, 34, 3))])
@pytest.mark.quick(2)
def test_a_line_written_while_a_prefetch_reads_it_is_not_overwritten(early, lines, wait):
    """Part writes delay the write of line 2 until its prefetch has begun, and then ended.

    Line 2 stays dirty. With `early` of 1 line 34, in the same set, begins a walk.
    """
    config = replace(COVERED, l2=replace(COVERED.l2, mshrs=64, prefetch=4, early_write_backs=early))
    bench = BusyBench(config, random.Random(wait), latency=60, window=100)
    first, second, after = (bench.reads(CORE, [n]) for n in (0, 1, 2))
    parts, pause = bench.writes(OTHER, [40] * wait, strobes=1), busy_with(bench, 0, 100)
    writes = bench.writes(OTHER, lines)
    # The flush ends after the sweep, in which nothing is prefetched.
    bench.run("flush", first, [*second, *parts, *writes], pause, after, "flush")


@pytest.mark.parametrize(("config", "stall"), pairs(["fits", "small"], [0, 0.3]))
@pytest.mark.parametrize(("window", "others"), [(3, 0), (100, 0.5)])
@pytest.mark.full
def test_claims_keep_one_order_of_writes(window, others, config, stall):
    """Streams of few reads in flight, while hits and writes of their lines use the look-ups."""
    rng = random.Random(11)
    config = {"fits": COVERED, "small": SMALL}[config]
    bench = BusyBench(
        config, rng, span=8192, latency=12, jitter=20 if stall else 0, stall=stall, window=window,
        gated=bool(stall),
    )  # fmt: skip
    phases = []
    for start in range(0, 96, 24):
        bursts = []
        for line in range(start, start + 24):
            bursts += bench.reads(CORE + line % 4, [line])
            bursts += bench.reads(OTHER, [line], beats=1) if rng.random() < 0.2 else []
            bursts += bench.reads(DMA, [rng.randrange(96)]) if rng.random() < others else []
            near = rng.randrange(line, line + 8)
            strobes = rng.choice([None, None, 0, 1, rng.getrandbits(32)])
            bursts += bench.writes(rng.choice([OTHER, DMA]), [near], strobes=strobes)
            for burst in bench.writes(OTHER, [120] * 4):  # a look-up in each cycle
                bursts.append(replace(burst, beats=1, writes=burst.writes[:1]))
        phases += [bursts, "flush"] if start else [bursts]
    bench.run(*phases)
    assert bench.claims > 2 or others


def streams_and_more(bench: L2Bench, phases: int) -> list[list[Burst]]:
    """Return interleaved bursts of several streams, and writes and reads of their lines."""
    rounds, lines = [], [bench.rng.randrange(128) for _ in range(3)]
    for _ in range(phases):
        bursts = []
        for stream, identity in enumerate((CORE, OTHER, DMA)):
            steps = bench.rng.randint(0, 3)
            following = [(lines[stream] + n) % 128 for n in range(steps)]
            bursts += bench.reads(identity, following)
            lines[stream] += steps
        bursts += bench.random_bursts(2, lines=range(128), ids=[DMA, CORE, OTHER])
        bench.rng.shuffle(bursts)
        rounds.append(bursts)
    return rounds


@pytest.mark.parametrize(("config", "stall"), pairs(["fits", "small"], [0, 0.3]))
@pytest.mark.full
def test_everybody_sees_one_order_of_writes(config, stall):
    config = {"fits": CONFIG, "small": SMALL}[config]
    bench = L2Bench(
        config, random.Random(7), span=8192, latency=12, jitter=30 if stall else 0, stall=stall,
        gated=bool(stall),
    )  # fmt: skip
    bench.run(*streams_and_more(bench, 30), "flush", *streams_and_more(bench, 30), "flush")
    assert bench.events["prefetch"] > 30 and bench.events["write_back"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_one_order_of_writes_for_long(seed):
    rng = random.Random(100 + seed)
    bench = L2Bench(
        rng.choice([CONFIG, SMALL]), rng, span=8192, latency=rng.choice([0, 20, 60]),
        jitter=rng.choice([0, 8, 60]), stall=rng.choice([0, 0.1, 0.5]), gated=bool(seed % 2),
    )  # fmt: skip
    phases = []
    for _ in range(6):
        phases += [*streams_and_more(bench, 100), "flush"]
    bench.run(*phases, timeout=100_000)


@pytest.mark.full
def test_gated_or_not_it_takes_the_same_time():
    cycles = []
    for gated in (False, True):
        bench = L2Bench(CONFIG, random.Random(3), span=8192, latency=LATENCY, gated=gated)
        bench.run(*streams_and_more(bench, 20))
        cycles.append((bench.cycle, bench.fetched, bench.events))
    assert cycles[0] == cycles[1]
