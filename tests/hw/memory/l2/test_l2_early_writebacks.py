"""Tests of the early write-backs of an L2 slice: while DRAM is lightly loaded, none is lost."""

import random
from dataclasses import replace

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2.flush import GROUPS
from spica.hw.memory.l2.layouts import L2SliceConfig
from support.memory.l2_bench import L2Bench

DMA, CORE, OTHER = 0, 0x20, 0x41

SMALL = L2SliceConfig(
    l2=L2Config(size=1024, ways=2, mshrs=8, write_backs=8, prefetch=0, early_write_backs=2),
    masters=1,
)
#: Sets enough for several in each group of the flush.
LARGE = replace(SMALL, l2=replace(SMALL.l2, size=1 << 15, early_write_backs=8))


class TimedBench(L2Bench):
    """A bench that records the cycle of each write of a line to DRAM."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.stored_at = []

    async def step(self, ctx, offers):
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


def test_fewer_lines_and_parts_of_lines_wait_for_the_flush():
    bench = L2Bench(LARGE, random.Random(1))
    bench.run(bench.writes(CORE, range(7)), bench.writes(CORE, range(7, 30), strobes=6))
    assert not bench.stored
    bench = L2Bench(with_early(LARGE, 0), random.Random(1))
    bench.run(bench.writes(CORE, range(16)))
    assert not bench.stored


def test_all_lines_of_a_set_are_written():
    """Two lines of each set, one of them in part."""
    sets = LARGE.l2.sets
    bench = L2Bench(LARGE, random.Random(1), span=1 << 16)
    parts = bench.writes(CORE, range(8), strobes=6)
    bench.run(parts, bench.writes(CORE, range(sets, sets + 8)))
    assert len(bench.stored) == 16
    bench = L2Bench(LARGE, random.Random(1), span=1 << 16)
    parts = bench.writes(CORE, range(8), strobes=6)
    bench.run(parts, bench.writes(CORE, range(sets, sets + 8)), "flush")
    assert len(bench.stored) == 16


def test_lines_written_again_are_written_back_again():
    bench = L2Bench(LARGE, random.Random(1))
    lines = range(8)
    again = [bench.writes(OTHER, lines), bench.writes(CORE, [3]), "flush"]
    bench.run(bench.writes(CORE, lines), bench.reads(CORE, [5] * 60), *again)
    assert len(bench.stored) >= 16


def test_nothing_is_written_early_while_reads_await_dram():
    """With 4 reads of 8 MSHRs in flight, until all but one have returned."""
    bench = TimedBench(SMALL, random.Random(1), latency=200)
    reads = [bench.reads(identity, [line])[0] for line, identity in enumerate([CORE, OTHER] * 2)]
    writes = bench.writes(CORE + 1, range(8, 12))
    bench.run([*reads, *writes])
    ends = sorted(read.ended for read in reads)
    assert len(bench.stored_at) == 4 and bench.stored_at[0] > ends[-3]


def test_a_flush_does_not_look_at_sets_that_were_written_early():
    """Of 68 sets with a line, 4 remain in the queue."""
    cycles = []
    for ends in ([], ["flush"]):
        bench = L2Bench(LARGE, random.Random(1), span=1 << 15, latency=0)
        phases = []
        for first in range(0, 64, 8):
            lines = range(first, first + 8)
            phases += [bench.writes(CORE, lines), bench.reads(CORE, lines)]
        phases += [bench.reads(CORE, [0] * 60), bench.writes(CORE, range(64, 68))]
        bench.run(*phases, *ends)
        assert len(bench.stored) == (68 if ends else 64)
        cycles.append(bench.cycle)
    assert cycles[1] - cycles[0] <= GROUPS + 4 * 4 + 30 < 2 * 64


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("stall", [0, 0.3])
def test_one_order_of_writes(number, stall):
    """Mostly whole lines of few sets, so that walks meet writes, evictions and a full queue."""
    config, rng = with_early(SMALL, number), random.Random(number)
    bench = L2Bench(config, rng, jitter=30 if stall else 0, stall=stall, gated=bool(stall))
    phases = []
    for _ in range(3):
        bursts = bench.random_bursts(60, lines=range(40), ids=[DMA, CORE, OTHER])
        whole = rng.choices(range(40), k=60)
        bursts += [bench.writes(rng.choice([CORE, OTHER]), [line])[0] for line in whole]
        rng.shuffle(bursts)
        phases += [bursts, "flush"]
    bench.run(*phases)
    assert bench.events["write_back"] and not bench.failed
