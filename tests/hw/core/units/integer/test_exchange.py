"""Tests of `hw.core.units.integer.exchange`: votes and shuffles of every mask, with segments."""

import random
from itertools import product

import numpy as np
import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.units.integer.exchange import Exchange
from spica.hw.isa.operations import EXCHANGES, Port
from spica.hw.isa.operations import IntegerOperation as Op
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.units.exchange import exchange, shuffle
from support.core.selectors import selector, selectors

SHUFFLES = (Op.SHFL_UP, Op.SHFL_DOWN, Op.SHFL_BFLY, Op.SHFL_IDX)
#: Threads and lanes: the shapes of presets, one thread, one lane, several beats, no power of two.
SHAPES = [(8, 8), (4, 4), (1, 1), (8, 1), (32, 8), (6, 2), (3, 3), (2, 1)]


def check(threads, lanes, cases):
    """Compare the beats of `cases`, each an operation, sources, selectors and a mask."""
    dut = require_no_loop(Exchange(CoreConfig(threads=threads, integer_lanes=lanes)))

    async def bench(ctx):
        for operation, sources, chosen, mask in cases:
            expected = exchange(operation, sources[None], chosen[None], mask[None])[0]
            common = {
                "operation": int(operation),
                "mask": sum(1 << k for k in np.flatnonzero(mask)),
                "sources": sources.tolist(),
            }
            for beat in range(threads // lanes):
                part = slice(beat * lanes, (beat + 1) * lanes)
                a, b = sources[part].tolist(), chosen[part].tolist()
                ctx.set(dut.i, {"place": 1 << beat, "common": common, "a": a, "b": b})
                actual = np.array([ctx.get(dut.o[lane]) for lane in range(lanes)], np.uint32)
                wrong = mask[part] & (actual != expected[part])
                assert not wrong.any(), (operation, mask, sources, chosen, actual, expected)

    simulate(dut, bench, domains=())


def masks_of(threads, rng):
    """Return all masks of few threads, otherwise random ones and those of one thread."""
    if threads <= 4:
        masks = range(1, 1 << threads)
    else:
        single = [1 << thread for thread in range(threads)]
        masks = [(1 << threads) - 1, *single, *(rng.randrange(1, 1 << threads) for _ in range(20))]
    return [np.array([mask >> k & 1 for k in range(threads)], bool) for mask in masks]


@pytest.mark.parametrize(("threads", "lanes"), SHAPES)
def test_every_operation_with_all_masks(threads, lanes):
    rng = random.Random(threads)
    values = np.random.default_rng(lanes)
    cases = []
    for operation, mask in product(EXCHANGES, masks_of(threads, rng)):
        for _ in range(4 if threads <= 4 else 2):
            sources = values.integers(0, 1 << 32, threads, dtype=np.uint32)
            sources = sources & np.uint32(rng.choice([0xFFFF_FFFF, 0xFFFF_FFFE]))
            sources |= np.uint32(rng.choice([0, 0, 1]))
            cases.append((operation, sources, selectors(rng, threads), mask))
    check(threads, lanes, cases)


@pytest.mark.parametrize("operation", SHUFFLES)
def test_every_selector_of_four_threads(operation):
    """All values of b, clamp and mask, with bits beyond them at random."""
    rng = random.Random(int(operation))
    mask = np.array([1, 1, 0, 1], bool)
    sources = np.array([10, 11, 12, 13], np.uint32)
    fields = list(product(range(4), repeat=3))
    cases = []
    for b, clamp, segment in fields:
        garbage = rng.getrandbits(32) & ~0x030C3
        word = selector(b, clamp, segment) & 0x030C3 | garbage
        cases.append((operation, sources, np.full(4, word, np.uint32), mask))
    check(4, 4, cases)


def cuda(mode, lane, b, clamp, mask):
    """Return the lane that ``shfl.sync`` reads in a warp of 32, as the manual of PTX defines it."""
    largest, least = lane & mask | clamp & ~mask & 31, lane & mask
    other, within = {
        Op.SHFL_UP: (lane - b, lane - b >= largest),
        Op.SHFL_DOWN: (lane + b, lane + b <= largest),
        Op.SHFL_BFLY: (lane ^ b, lane ^ b <= largest),
        Op.SHFL_IDX: (least | b & ~mask & 31, (least | b & ~mask & 31) <= largest),
    }[mode]
    return other if within else lane


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("operation", SHUFFLES)
def test_the_model_reads_the_lanes_of_cuda(operation, width):
    """The largest lane of ``up`` is not clamped there, and its bound is the first lane here."""
    sources, mask = list(range(32)), [True] * 32
    segment = 32 - width
    for lane, b in product(range(32), range(32)):
        word = selector(b, width - 1, segment)
        clamp = 0 if operation == Op.SHFL_UP else 31
        expected = cuda(operation, lane, b, clamp, segment)
        assert shuffle(operation, lane, sources, word, mask) == expected


def test_by_hand():
    """Results computed by hand, in case golden model and RTL share an error."""
    sources = np.arange(10, 18, dtype=np.uint32)
    full = np.ones(8, bool)
    odd = np.array([0, 1, 1, 1, 0, 1, 1, 1], bool)

    def result(operation, b, clamp, segment, mask=full):
        word = np.full(8, selector(b, clamp, segment), np.uint32)
        return exchange(operation, sources[None], word[None], mask[None])[0].tolist()

    assert result(Op.SHFL_UP, 1, 7, 0) == [10, 10, 11, 12, 13, 14, 15, 16]
    assert result(Op.SHFL_UP, 2, 3, 4) == [10, 11, 10, 11, 14, 15, 14, 15]
    assert result(Op.SHFL_DOWN, 1, 7, 0) == [11, 12, 13, 14, 15, 16, 17, 17]
    assert result(Op.SHFL_DOWN, 1, 1, 0) == [11, 11, 12, 13, 14, 15, 16, 17]
    assert result(Op.SHFL_DOWN, 2, 3, 4) == [12, 13, 12, 13, 16, 17, 16, 17]
    assert result(Op.SHFL_BFLY, 4, 7, 0) == [14, 15, 16, 17, 10, 11, 12, 13]
    assert result(Op.SHFL_BFLY, 4, 3, 4) == [10, 11, 12, 13, 10, 11, 12, 13]
    assert result(Op.SHFL_IDX, 2, 3, 4) == [12, 12, 12, 12, 16, 16, 16, 16]
    assert result(Op.SHFL_IDX, 6, 3, 0) == [10, 11, 12, 13, 14, 15, 16, 17]
    # Threads 0 and 4 are inactive: threads that would read them keep their own.
    assert result(Op.SHFL_UP, 1, 7, 0, odd)[1::4] == [11, 15]
    assert result(Op.SHFL_IDX, 0, 7, 0, odd)[1:4] == [11, 12, 13]
    assert result(Op.VOTE_BALLOT, 0, 0, 0, odd)[1] == 0b1010_1010
    assert result(Op.VOTE_ANY, 0, 0, 0, odd)[1] == 1
    assert result(Op.VOTE_ALL, 0, 0, 0, odd)[1] == 0
    assert result(Op.VOTE_UNI, 0, 0, 0, odd)[1] == 0
    assert CoreConfig().lanes(Port.INT) == 8
