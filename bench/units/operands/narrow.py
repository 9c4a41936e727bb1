"""Stimulus for the conversions between FP32 and 16-bit floats."""

import numpy as np

from spica.hw.config.formats import BF16, FP16, FP32
from spica.sim.golden.arith.float.floats import corners
from spica.sim.golden.arith.float.narrow import widen

from .floats import random_bits

__all__ = ["narrowing_operands", "widening_operands"]


def narrowing_operands(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return FP32 values: many near ties, ends of the ranges and subnormals of both formats."""
    form = np.where(rng.integers(0, 2, count) == 0, 0, 1)
    codes = random_bits(rng, FP16, count), random_bits(rng, BF16, count)
    near = [corners(FP16), corners(BF16)]
    codes = [
        np.where(rng.random(count) < 0.2, rng.choice(few, count), many)
        for few, many in zip(near, codes, strict=True)
    ]
    # A value of the format, plus up to one place of it: the bits that rounding drops.
    wide = [widen(x, f)[0] for x, f in zip(codes, (FP16, BF16), strict=True)]
    places = FP32.fraction_width - FP16.fraction_width, FP32.fraction_width - BF16.fraction_width
    base, width = np.choose(form, wide), np.choose(form, places)
    # Subnormals of FP16 drop more bits.
    low = (base & FP32.magnitude_mask) >> FP32.fraction_width
    width = np.where(form == 0, width + np.clip(FP32.bias - FP16.bias + 1 - low, 0, 10), width)
    half = np.int64(1) << width - 1
    dropped = half * rng.integers(0, 3, count) + rng.integers(-1, 2, count)
    dropped = np.where(
        rng.random(count) < 0.2, rng.integers(0, 1 << 24, count) % (2 * half), dropped
    )
    beside = (base.astype(np.int64) + dropped) & 0xFFFF_FFFF
    return np.where(rng.random(count) < 0.2, random_bits(rng, FP32, count), beside).astype(
        np.uint32
    )


def widening_operands(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return pairs of 16-bit floats of both formats, some with ones in the upper half."""
    halves = [
        np.where(
            rng.integers(0, 2, count) == 0,
            random_bits(rng, FP16, count),
            random_bits(rng, BF16, count),
        ).astype(np.uint32)
        for _ in range(2)
    ]
    kind = rng.random(count)
    upper = np.where(kind < 0.5, 0xFFFF, halves[1])
    # One bit short of a box.
    upper = np.where(kind < 0.1, 0xFFFF ^ (1 << rng.integers(0, 16, count)), upper)
    return (halves[0] | upper.astype(np.uint32) << 16).astype(np.uint32)
