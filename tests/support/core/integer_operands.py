"""Stimulus for core units: crossed corner cases, uniform and diverging threads."""

from dataclasses import replace

import numpy as np

from bench.units.operands.floats import crossed
from spica.hw.isa.operations import IntegerOperation as Op
from spica.sim.golden.core.units.integer_unit import Warps

__all__ = ["CORNERS", "crossed_warps", "one_warp", "random_warps", "random_words"]

CORNERS = np.array(
    [
        *(0, 1, 2, 31, 32, 0xFFFF, 0x1_0000, 0x5555_5555, 0xAAAA_AAAA),
        *(0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF),
    ],
    np.uint32,
)


def random_words(rng, shape):
    """Return random words: a third corners, a third small numbers of either sign."""
    kinds = rng.integers(0, 3, shape)
    small = rng.integers(-40, 40, shape).astype(np.uint32)
    anything = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    return np.choose(kinds, [rng.choice(CORNERS, shape), small, anything])


def random_masks(rng, count, threads):
    """Return random masks, half of them full, none empty."""
    masks = rng.random((count, threads)) < 0.6
    masks[rng.random(count) < 0.5] = True
    masks[~masks.any(axis=1), rng.integers(threads)] = True
    return masks


def warps_of(rng, threads, operation, a, b, **fields):
    """Return warps with random values for every field that is not given.

    All pcs differ, the first is the highest, and many end in ones.
    """
    count = len(operation)
    assert count <= 1 << 10
    ones = (1 << rng.integers(0, 21, count)) - 1
    ones[0] = (1 << 20) - 1
    pc = ~np.arange(count) << 22 | (rng.integers(0, 1 << 20, count) | ones) << 2
    return Warps(**{
        "operation": operation,
        "pc": pc.astype(np.uint32),
        "immediate": random_words(rng, count),
        "a_is_pc": np.zeros(count, bool),
        "b_is_immediate": np.zeros(count, bool),
        "mask": random_masks(rng, count, threads),
        "a": a,
        "b": b,
        **fields,
    })


def random_warps(seed, threads, count, operations=tuple(Op)):
    """Return warps of random operations; in half of them all threads have equal operands."""
    rng = np.random.default_rng(seed)
    operation = rng.choice([int(op) for op in operations], count)
    a, b = (random_words(rng, (count, threads)) for _ in range(2))
    uniform = rng.random(count) < 0.5
    a[uniform], b[uniform] = a[uniform, :1], b[uniform, :1]
    equal = rng.random(count) < 0.2
    b[equal] = a[equal]
    replaced = rng.random((2, count)) < 0.2
    return warps_of(rng, threads, operation, a, b, a_is_pc=replaced[0], b_is_immediate=replaced[1])


def crossed_warps(threads, operations=tuple(Op)):
    """Return warps that cross all corners of both operands in each operation."""
    a, b = crossed(CORNERS, CORNERS)
    fill = -len(a) % threads
    a, b = (np.append(x, x[:fill]).reshape(-1, threads) for x in (a, b))
    operation = np.repeat([int(op) for op in operations], len(a))
    a, b = (np.tile(x, (len(operations), 1)) for x in (a, b))
    mask = np.ones(a.shape, bool)
    return warps_of(np.random.default_rng(1), threads, operation, a, b, mask=mask)


def one_warp(threads: int, operation, **fields) -> Warps:
    """Return one instruction; fields that are not given may be random."""
    warps = random_warps(3, threads, 1, (operation,))
    given = {name: np.array([value]) for name, value in fields.items()}
    flags = {name: np.zeros(1, bool) for name in ("a_is_pc", "b_is_immediate")}
    mask = np.ones((1, threads), bool)
    return replace(warps, **{"mask": mask, **flags, **given})
