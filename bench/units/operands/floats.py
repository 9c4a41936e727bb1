"""Stimulus for arithmetic: borders of classes, cancellation, ties, extremes."""

import numpy as np

from spica.hw.config.formats import FP16, FP32, FloatFormat, IntFormat
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.float.floats import corners

__all__ = [
    "Operands",
    "add_operands",
    "crossed",
    "multiply_add_operands",
    "multiply_operands",
    "random_bits",
]

Operands = tuple[np.ndarray, ...]


def crossed(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return every combination of the arrays' elements."""
    return [grid.ravel() for grid in np.meshgrid(*arrays, indexing="ij")]


def random_bits(rng: np.random.Generator, form: FloatFormat | IntFormat, count: int) -> np.ndarray:
    """Return uniform bits, 40 % of them corners."""
    uniform = rng.integers(0, 1 << form.width, count, dtype=np.uint32)
    return np.where(rng.random(count) < 0.4, rng.choice(corners(form), count), uniform)


def opposite(rng: np.random.Generator, stored: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `stored` with the sign inverted, last bits changed, and some exponents changed."""
    count = len(stored)
    moved = stored.astype(np.int64) ^ (1 << (form.width - 1))
    moved += rng.integers(-3, 4, count)
    reach = form.significand_width + 3
    steps = np.where(rng.random(count) < 0.5, 0, rng.integers(-reach, reach + 1, count))
    return ((moved + (steps << form.fraction_width)) & ((1 << form.width) - 1)).astype(np.uint32)


def half_of(rng: np.random.Generator, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return elements of either array with equal probability."""
    return np.where(rng.random(len(one)) < 0.5, one, other)


def add_operands(rng: np.random.Generator, count: int, form: FloatFormat = FP32) -> Operands:
    """Return (a, b) for an adder: half nearly cancel or have exponents at all distances."""
    a = random_bits(rng, form, count)
    return a, half_of(rng, opposite(rng, a, form), random_bits(rng, form, count))


def multiply_operands(rng: np.random.Generator, count: int, form: FloatFormat = FP32) -> Operands:
    """Return (a, b) for a multiplier: half of the products are near underflow or overflow."""
    a, b = random_bits(rng, form, count), random_bits(rng, form, count)
    exponent = (a >> form.fraction_width & form.exponent_mask).astype(np.int64)
    least = form.bias - exponent + rng.integers(-form.significand_width - 2, 4, count)
    most = form.bias + form.exponent_mask - exponent + rng.integers(-3, 3, count)
    edge = np.clip(half_of(rng, least, most), 0, form.exponent_mask) << form.fraction_width
    near_edge = (b & ~np.uint32(form.infinity)) | edge.astype(np.uint32)
    return a, half_of(rng, near_edge, b)


def multiply_add_operands(
    rng: np.random.Generator,
    count: int,
    operand: FloatFormat | IntFormat = FP16,
    accumulator: FloatFormat | IntFormat = FP32,
) -> Operands:
    """Return (a, b, c) for a multiply-add: half of the sums nearly cancel."""
    a, b = random_bits(rng, operand, count), random_bits(rng, operand, count)
    c = random_bits(rng, accumulator, count)
    if isinstance(accumulator, FloatFormat):
        zero = np.zeros(count, np.uint32)
        product = floats.multiply_add(a, b, zero, operand=operand, accumulator=accumulator)
        c = half_of(rng, opposite(rng, product, accumulator), c)
    return a, b, c
