"""Tests of the early write-backs of an L2 slice: with their write or by walks, none is lost."""

import random
from dataclasses import replace

import pytest
from amaranth import Value

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2.flush import GROUPS
from spica.hw.memory.l2.layouts import L2SliceConfig, access_layout
from support.memory.l2_bench import L2Bench
from support.slow_cases import pairs

DMA, CORE, OTHER = 0, 0x20, 0x41

SMALL = L2SliceConfig(
    l2=L2Config(size=1024, ways=2, mshrs=8, write_backs=8, prefetch=0, early_write_backs=2),
    masters=1,
)
#: Sets enough for several in each group of the flush.
LARGE = replace(SMALL, l2=replace(SMALL.l2, size=1 << 15, early_write_backs=8))


class TimedBench(L2Bench):
    """A bench that records the cycle of each write of a line to DRAM, and what caused it."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.stored_at, self.with_writes, self.by_walks = [], 0, 0

    async def step(self, ctx, offers):
        port = self.dut.tag_stage.access
        if ctx.get(port.valid):
            access = access_layout(self.config).from_bits(ctx.get(Value.cast(port.payload)))
            self.with_writes += access.cleans & access.writes
            self.by_walks += access.cleans & ~access.writes
        flushed = await super().step(ctx, offers)
        self.stored_at += [self.cycle] * (len(self.stored) - len(self.stored_at))
        return flushed


def with_early(config: L2SliceConfig, number: int) -> L2SliceConfig:
    """Return the slice with another number of lines written together."""
    return replace(config, l2=replace(config.l2, early_write_backs=number))


@pytest.mark.parametrize("number", [-1, 65])
def test_the_number_is_limited(number):
    with pytest.raises(
        ValueError, match=f"early_write_backs must be between 0 and 64, not {number}"
    ):
        L2Config(early_write_backs=number)


def test_lines_written_in_whole_are_written_once_before_the_flush():
    bench = L2Bench(LARGE, random.Random(1))
    bench.run(bench.writes(CORE, range(16)))
    assert len(bench.stored) == 16
    bench = L2Bench(LARGE, random.Random(1))
    bench.run(bench.writes(CORE, range(16)), "flush", bench.reads(OTHER, range(16)))
    assert len(bench.stored) == 16 and not bench.fetched  # they stay valid


def test_a_whole_line_goes_to_dram_in_the_cycles_of_its_write():
    """2 cycles after the look-up the write-back is stored, and 3 later offered."""
    bench = TimedBench(LARGE, random.Random(1), latency=0)
    (write,) = bench.writes(CORE, [3])
    bench.run(bench.writes(CORE, [2], strobes=6), [write])
    assert len(bench.stored) == bench.with_writes == 1 and not bench.by_walks
    assert bench.stored_at[0] - write.ended <= 6


@pytest.mark.parametrize(("lines", "walked"), [(8, 0), (9, 0), (10, 2), (16, 8)])
@pytest.mark.full
def test_lines_beyond_the_number_in_flight_follow_in_groups(lines, walked):
    """8 lines go at once, as DRAM answers late; the sets of a quarter of 8 more begin a walk."""
    bench = TimedBench(LARGE, random.Random(1), latency=200)
    bench.run(bench.writes(CORE, range(lines)))
    assert (bench.with_writes, bench.by_walks) == (8, walked)
    assert len(bench.stored) == 8 + walked
    bench = TimedBench(LARGE, random.Random(1), latency=200)
    bench.run(bench.writes(CORE, range(lines)), "flush")
    assert len(bench.stored) == lines


def test_more_write_backs_than_the_buffer_holds_are_never_begun():
    config = replace(LARGE, l2=replace(LARGE.l2, write_backs=4, early_write_backs=64))
    bench = TimedBench(config, random.Random(1), latency=100)
    bench.run(bench.writes(CORE, range(12)), "flush")
    assert len(bench.stored) == 12 and bench.with_writes == 4


@pytest.mark.full
def test_parts_of_lines_wait_for_the_flush():
    bench = L2Bench(LARGE, random.Random(1))
    bench.run(bench.writes(CORE, range(30), strobes=6))
    assert not bench.stored
    bench = L2Bench(with_early(LARGE, 0), random.Random(1))
    bench.run(bench.writes(CORE, range(16)))
    assert not bench.stored


@pytest.mark.full
def test_a_victim_is_written_back_before_the_line_that_replaces_it():
    """One look-up writes back one line: the new line stays dirty until the flush."""
    direct = replace(LARGE, l2=replace(LARGE.l2, ways=1, size=1 << 14))
    bench = TimedBench(direct, random.Random(1), span=1 << 15)
    victim, new = bench.writes(CORE, [3], strobes=6), bench.writes(CORE, [3 + direct.l2.sets])
    bench.run(victim, new)
    assert len(bench.stored) == 1 and not bench.with_writes
    bench = TimedBench(direct, random.Random(1), span=1 << 15)
    bench.run(victim, new, "flush")
    assert len(bench.stored) == 2


def test_an_error_of_a_line_written_with_its_write_is_reported():
    bench = L2Bench(LARGE, random.Random(1), broken=range(0x8000_0000, 0x8000_0040))
    (write,) = bench.writes(CORE, [0])
    bench.run([write])
    assert write.codes == [0] and bench.failed == 1


@pytest.mark.full
def test_a_line_that_was_written_and_replaced_is_read_after_its_write_back():
    """DRAM takes the bytes late, at a random time before its response."""
    direct = replace(SMALL, l2=replace(SMALL.l2, ways=1, early_write_backs=8))
    bench = L2Bench(direct, random.Random(1), latency=1, jitter=40)
    phases = []
    for line in range(16):
        other = line + direct.l2.sets
        phases += [
            bench.writes(CORE, [line]),
            [*bench.reads(CORE, [other], beats=1), *bench.reads(OTHER, [line])],
        ]
    bench.run(*phases)
    assert len(bench.stored) == 16 and len(bench.fetched) == 32


@pytest.mark.full
def test_all_lines_of_a_set_are_written():
    """Two lines of each set, one of them in part: 4 whole lines go at once, 4 are walked over."""
    sets, config = LARGE.l2.sets, with_early(LARGE, 4)
    bench = TimedBench(config, random.Random(1), span=1 << 16, latency=200)
    parts = bench.writes(CORE, range(8), strobes=6)
    bench.run(parts, bench.writes(CORE, range(sets, sets + 8)))
    assert (bench.with_writes, bench.by_walks, len(bench.stored)) == (4, 8, 12)
    bench = TimedBench(config, random.Random(1), span=1 << 16, latency=200)
    parts = bench.writes(CORE, range(8), strobes=6)
    bench.run(parts, bench.writes(CORE, range(sets, sets + 8)), "flush")
    assert len(bench.stored) == 16


def test_lines_written_again_are_written_back_again():
    bench = L2Bench(LARGE, random.Random(1))
    lines = range(8)
    again = [bench.writes(OTHER, lines), bench.writes(CORE, [3]), "flush"]
    bench.run(bench.writes(CORE, lines), bench.reads(CORE, [5] * 60), *again)
    assert len(bench.stored) >= 16


@pytest.mark.full
def test_no_walk_begins_while_reads_await_dram():
    """With 4 reads of 8 MSHRs in flight, until all but one have returned."""
    bench = TimedBench(SMALL, random.Random(1), latency=200)
    reads = [bench.reads(identity, [line])[0] for line, identity in enumerate([CORE, OTHER] * 2)]
    writes = bench.writes(CORE + 1, range(8, 12))
    bench.run([*reads, *writes])
    ends = sorted(read.ended for read in reads)
    assert len(bench.stored_at) == 4 and bench.stored_at[1] < ends[0] <= ends[-3]
    assert bench.stored_at[2] > ends[-3]


@pytest.mark.parametrize(("lines", "latency"), [(8, 0), (16, 100)])
@pytest.mark.full
def test_a_flush_skips_sets_that_were_written_early(lines, latency):
    """Half of 16 lines go at once, half of them follow; the sets of part lines remain."""
    cycles, parts, pause = [], range(64, 68), 60 + latency
    for ends in ([], ["flush"]):
        bench = TimedBench(LARGE, random.Random(1), span=1 << 15, latency=latency)
        phases = []
        for first in range(0, 64, lines):
            whole = range(first, first + lines)
            phases += [bench.writes(CORE, whole), bench.reads(CORE, [*whole, *[first] * pause])]
        bench.run(*phases, bench.writes(CORE, parts, strobes=6), *ends)
        assert len(bench.stored) == (68 if ends else 64)
        assert bool(bench.by_walks - 4 * len(ends)) == (lines > 8)
        cycles.append(bench.cycle)
    in_group = LARGE.l2.sets // GROUPS
    assert cycles[1] - cycles[0] <= GROUPS + in_group + 4 * 4 + latency + 30 < 2 * 64 + latency


@pytest.mark.parametrize(("number", "stall"), pairs([1, 2, 5], [0, 0.3]))
@pytest.mark.quick("5-0")
def test_one_order_of_writes(number, stall):
    """Mostly whole lines of few sets, so that walks meet writes, evictions and a full queue."""
    config, rng = with_early(SMALL, number), random.Random(number)
    bench = TimedBench(config, rng, jitter=30 if stall else 0, stall=stall, gated=bool(stall))
    phases = []
    for _ in range(3):
        bursts = bench.random_bursts(60, lines=range(40), ids=[DMA, CORE, OTHER])
        whole = rng.choices(range(40), k=60)
        bursts += [bench.writes(rng.choice([CORE, OTHER]), [line])[0] for line in whole]
        rng.shuffle(bursts)
        phases += [bursts, "flush"]
    bench.run(*phases)
    assert bench.with_writes > 1 and bench.by_walks > 10 and not bench.failed
