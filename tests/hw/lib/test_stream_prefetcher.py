"""Tests of the stream prefetcher: lines of streams are proposed, and no others."""

import random

import pytest

from spica.hw.lib.stream_prefetcher import BEHIND, BEYOND, STREAMS, StreamConfig, StreamPrefetcher
from spica.sim.engine.testbench import require_no_loop, simulate

CONFIG = StreamConfig(line_width=16, ahead=6)


def proposals(requests, *, config=CONFIG, ready=lambda: True, drops=lambda: False):
    """Return the accepted proposals; each request is a missed line, a pair, or None.

    Proposals are near requested lines and stay until they are accepted, or all are forgotten.
    """
    unit, accepted, near, held = require_no_loop(StreamPrefetcher(config)), [], set(), None

    async def drive(ctx):
        nonlocal held
        for request in [*requests, *[None] * (2 * STREAMS * config.ahead)]:
            access = request if isinstance(request, tuple) or request is None else (request, True)
            is_ready, is_forgotten = ready(), drops()
            ctx.set(unit.demand.valid, access is not None)
            ctx.set(unit.demand.line, access[0] if access else 0)
            ctx.set(unit.demand.missed, access[1] if access else 0)
            ctx.set(unit.o.ready, is_ready)
            ctx.set(unit.drop, is_forgotten)
            proposed = ctx.get(unit.o.payload) if ctx.get(unit.o.valid) else None
            assert held in (None, proposed)
            assert proposed is None or proposed in near
            assert ctx.get(unit.busy) or (proposed is None and access is None)
            if is_ready and proposed is not None:
                accepted.append(proposed)
            held = None if is_ready or is_forgotten else proposed
            if access is not None:
                near.update(range(access[0] - BEYOND + 1, access[0] + config.ahead + 1))
            if is_forgotten:
                near.clear()
            await ctx.tick()

    simulate(unit, drive)
    return accepted


def apart(lines, gap: int = 3):
    """Return requests with some cycles between them."""
    return [request for line in lines for request in (line, *[None] * gap)]


def test_a_stream_has_its_next_lines_once_each():
    assert proposals(apart(range(1000, 1020))) == [*range(1002, 1026)]


def test_what_is_missed_late_moves_the_front():
    """Lines requested meanwhile are not proposed any more."""
    assert proposals([1000, 1001, 1002, 1003, *[None] * 20]) == [*range(1004, 1010)]


@pytest.mark.parametrize("lines", [range(1000, 1100, 2), range(1100, 1000, -1), [7] * 20])
def test_what_is_no_stream_has_nothing(lines):
    assert proposals(apart(lines)) == []


@pytest.mark.full
def test_lines_at_random_have_next_to_nothing():
    rng = random.Random(3)
    assert len(proposals(apart(rng.randrange(1 << 15) for _ in range(1000)))) <= 12


def test_what_is_here_begins_no_stream():
    assert proposals([request and (request, False) for request in apart(range(1000, 1020))]) == []


def test_what_is_here_keeps_a_stream_going():
    first = apart(range(1000, 1002))
    later = [request and (request, False) for request in apart(range(1002, 1020))]
    assert proposals(first + later) == [*range(1002, 1026)]


@pytest.mark.parametrize("share", [1, 0.4])
@pytest.mark.parametrize("streams", [2, STREAMS])
def test_streams_side_by_side(streams, share):
    starts, rng = [1000 * (n + 1) for n in range(streams)], random.Random(1)
    lines = [start + n for n in range(20) for start in rng.sample(starts, streams)]
    proposed = proposals(apart(lines, gap=20), ready=lambda: rng.random() < share)
    assert sorted(proposed) == [start + n for start in starts for n in range(2, 26)]


def test_streams_take_turns():
    proposed = proposals([1000, 1001, 2000, 2001])
    assert proposed == [start + n for n in range(2, 8) for start in (1000, 2000)]


def test_streams_that_overlap_are_one():
    """The second begins far after the first, whose next line is then one of both."""
    assert proposals([1000, 1001, 1100, 1101, 1002]) == [*range(1003, 1009)]


def test_skipped_lines_are_proposed_once():
    assert proposals([1000, 1001, 1021, 1002]) == [*range(1003, 1028)]


def test_lines_read_again_move_nothing_back():
    again = [1014, 1012, 1010, 1013, 1011]
    assert proposals(apart([*range(1000, 1010), *again])) == [*range(1002, 1021)]


def test_what_is_forgotten_begins_again():
    """After ten lines, no line is proposed until the stream is confirmed again."""
    cycles = iter(range(1000))
    proposed = proposals(apart(range(1000, 1020)), drops=lambda: next(cycles) == 39)
    assert proposed == [*range(1002, 1016), *range(1012, 1026)]


def test_blocks_in_no_order_are_one_stream():
    """In the order of warps: few lines are proposed twice, and none is skipped."""
    rng, lines = random.Random(1), []
    for base in range(1000, 1000 + 4 * BEHIND // 2, BEHIND // 2):
        blocks = [*range(base, base + BEHIND // 2, 4)]
        rng.shuffle(blocks)
        lines += [line for block in blocks for line in range(block, block + 4)]
    proposed = proposals(apart(lines, gap=12))
    last = max(lines)
    assert sorted(set(proposed) | set(lines)) == [*range(1000, last + CONFIG.ahead + 1)]
    assert len(proposed) <= 1.2 * len(set(proposed))


@pytest.mark.full
def test_a_stream_in_use_outlives_lines_at_random():
    rng, lines = random.Random(2), []
    for n in range(200):
        lines += [1000 + n, *(rng.randrange(1 << 14, 1 << 15) for _ in range(STREAMS - 2))]
    proposed = [line for line in proposals(apart(lines, gap=6)) if line < 2000]
    assert proposed == [*range(1002, 1200 + CONFIG.ahead)]


@pytest.mark.parametrize("ahead", [1, 6, 32])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick(1)
def test_only_lines_near_others_are_proposed(ahead, seed):
    """Streams go on, back, and elsewhere; now and then all are forgotten."""
    rng = random.Random(seed)
    config = StreamConfig(line_width=16, ahead=ahead)
    fronts = [rng.randrange(512, 1 << 15) for _ in range(12)]

    def request():
        if rng.random() < 0.5:
            return None
        number = rng.randrange(len(fronts))
        fronts[number] += rng.choice([0, 1, 1, 1, 1, -3, 2, 15, 16])
        if rng.random() < 0.02:
            fronts[number] = rng.randrange(512, 1 << 15)
        return fronts[number], rng.random() < 0.7

    proposed = proposals(
        [request() for _ in range(3000)],
        config=config,
        ready=lambda: rng.random() < 0.6,
        drops=lambda: rng.random() < 0.002,
    )
    assert len(proposed) > 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ahead": 0}, "ahead must be between 1 and 128, not 0"),
        ({"line_width": 9}, "line_width must be between 10 and 32, not 9"),
    ],
)
def test_what_it_must_be(change, message):
    with pytest.raises(ValueError, match=message):
        StreamConfig(**{"line_width": 16, "ahead": 6, **change})
