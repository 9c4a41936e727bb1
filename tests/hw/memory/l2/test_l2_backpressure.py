"""Tests of an L2 slice with a requester that stalls responses for long: none is lost."""

import itertools
import random
from dataclasses import replace
from functools import cache

import pytest

from spica.hw.config.l2 import L2Config
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.hw.memory.l2.replies import REPLIES, REPLIES_KEPT
from spica.hw.memory.l2.responder import RESPONSES
from support.memory.l2_bench import L2Bench

SMALL = L2Config(size=2048, ways=2, mshrs=16, write_backs=16, prefetch=0, early_write_backs=0)
CONFIGS = {
    "pairs": L2SliceConfig(l2=SMALL, masters=1),
    # A write comes in every cycle.
    "singles": L2SliceConfig(l2=replace(SMALL, size=256, line_bytes=8), data_width=64, masters=1),
}
#: An ID of the DMA, whose misses do not allocate, and two of cores.
DMA, CORE, OTHER = 0, 0x20, 0x41
#: Lines that are present.
WARM = 8


#: Cycles of the stall.
LONG = 100


class HeldBench(L2Bench):
    """A bench that stalls a channel for `LONG` cycles from `start` on.

    Attributes
    ----------
    reads_taken, writes_done : int
        Counts within those cycles.

    """

    def __init__(self, config: L2SliceConfig, channel: str, start: int):
        super().__init__(config, random.Random(1), latency=5, span=8192)
        self.channel, self.held = channel, range(start, start + LONG)
        self.reads_taken = self.writes_done = 0

    def offer(self, offers, reads, writes, beats):
        values = super().offer(offers, reads, writes, beats)
        if self.cycle in self.held:
            values[f"{self.channel}ready"] = 0
        return values

    def accept(self, seen, offers):
        if self.cycle in self.held:
            self.reads_taken += self.near.moved("ar", seen)
            self.writes_done = self.events["write"] - WARM
        super().accept(seen, offers)


@cache
def warmed(config: L2SliceConfig) -> int:
    """Return the cycle in which all lines of `WARM` are present."""
    bench = HeldBench(config, "r", 1 << 20)
    bench.run(bench.writes(CORE, range(WARM)))
    return bench.cycle


def held(channel: str, make, *, config: L2SliceConfig = CONFIGS["pairs"]) -> HeldBench:
    """Issue the requests of `make` to a bench, and compare the responses.

    The first lines are present by then; a channel stalls for a while.
    """
    bench = HeldBench(config, channel, warmed(config))
    bench.run(bench.writes(CORE, range(WARM)), make(bench))
    assert bench.cycle > bench.held[-1]
    return bench


def of_ids(bench: L2Bench, ids, lines):
    """Return reads of a beat of each line, by these IDs in turn."""
    turns = zip(itertools.cycle(ids), lines)
    return [burst for identity, line in turns for burst in bench.reads(identity, [line], beats=1)]


@pytest.mark.parametrize("beats", [1, 2])
@pytest.mark.full
def test_reads_of_what_is_there_are_taken_while_there_is_room_for_answers(beats):
    lines = [n % WARM for n in range(30)]
    bench = held("r", lambda bench: bench.reads(CORE, lines, beats=beats))
    assert bench.reads_taken == RESPONSES


@pytest.mark.parametrize(
    ("ids", "lines"),
    [
        ([CORE, OTHER], range(20, 50)),  # misses
        ([DMA, DMA + 1], range(20, 50)),  # misses that do not allocate
        ([CORE, OTHER, DMA], [n if n % 2 else n % WARM for n in range(20, 50)]),
    ],
    ids=["cores", "dma", "mixed"],
)
@pytest.mark.quick(1)
def test_refills_of_reads_wait_for_room(ids, lines):
    bench = held("r", lambda bench: of_ids(bench, ids, lines))
    assert RESPONSES <= bench.reads_taken <= RESPONSES + bench.config.l2.mshrs


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("ids", [[CORE], [DMA], [CORE, DMA]], ids=["cores", "dma", "mixed"])
@pytest.mark.quick(1)
def test_writes_are_done_while_there_is_room_for_replies(name, ids):
    """DRAM's responses to uncached writes wait for room."""

    def writes(bench):
        turns = zip(itertools.cycle(ids), range(30))
        return [
            burst
            for identity, n in turns
            for burst in bench.writes(identity, [20 + n if identity == DMA else n % WARM])
        ]

    bench = held("b", writes, config=CONFIGS[name])
    room = REPLIES - REPLIES_KEPT
    assert bench.writes_done in (range(room, room + 2) if DMA not in ids else range(room, 30))
