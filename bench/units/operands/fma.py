"""Stimulus for multiply-adds: borders, cancellation, every distance of the addend, classes."""

import numpy as np

from spica.hw.config.formats import FP32, FloatFormat
from spica.sim.golden.arith.float import floats

__all__ = ["fma_operands"]


def fma_operands(
    rng: np.random.Generator,
    count: int,
    form: FloatFormat = FP32,
    addend: FloatFormat | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (a, b, c) for a multiply-add: factors of `form`, addends of `addend` or of `form`.

    Kinds: random operands; products near the addend's subnormal and overflow borders, with small
    addends; addends that nearly cancel; addends at every distance; products just below a power
    of two, with that power subtracted, which leaves the end of an exact product; all combinations
    of classes.
    """
    addend = addend or form
    kind = rng.integers(0, 6, count)
    a, b = some_floats(rng, count, form), some_floats(rng, count, form)
    near = near_borders(rng, a, b, form, addend)
    b = np.where((kind == 1) | (rng.random(count) < 0.2), near, b)
    a, b = (
        np.select(
            [kind == 4, kind == 5], [nearly_two(rng, x, form), any_class(rng, count, form)], x
        )
        for x in (a, b)
    )
    anything = some_floats(rng, count, addend)
    small = anything & ~(addend.exponent_mask << addend.fraction_width)
    opposite = nearly_opposite(rng, a, b, kind, form, addend)
    c = np.select(
        [kind == 0, kind == 1, kind == 5],
        [anything, small, any_class(rng, count, addend)],
        opposite,
    )
    return a.astype(np.uint32), b.astype(np.uint32), c.astype(np.uint32)


def some_floats(rng: np.random.Generator, count: int, form: FloatFormat) -> np.ndarray:
    """Return stored floats: uniform, corners, and ones with a fraction that ends in zeros or ones.

    Zeros give ties; ones give products just below a power of two.
    """
    uniform = rng.integers(0, 1 << form.width, count)
    end = form.fraction_mask >> rng.integers(0, form.significand_width, count)
    corners = rng.choice(floats.corners(form), count).astype(np.int64)
    kind = rng.random(count)
    conditions = [kind < 0.15, kind < 0.45, kind < 0.6]
    return np.select(conditions, [corners, uniform & ~end, uniform | end], uniform)


def any_class(rng: np.random.Generator, count: int, form: FloatFormat) -> np.ndarray:
    """Return the smallest and the largest number of every class of the format."""
    least_normal = 1 << form.fraction_width
    codes = [0, 1, least_normal - 1, least_normal, form.bias << form.fraction_width, form.largest]
    codes += [form.infinity, form.infinity + 1] if form.has_infinity else []
    codes += [form.nan] if form.has_nan else []
    sign = rng.integers(0, 1 + form.signed, count)
    return rng.choice(codes, count) | sign << form.magnitude_width


def nearly_two(rng: np.random.Generator, stored: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `stored` with an all-ones fraction, or one or two less."""
    fraction = np.maximum(form.fraction_mask - rng.integers(0, 3, len(stored)), 0)
    return stored & ~form.fraction_mask | fraction


def near_borders(rng, a, b, form: FloatFormat, addend: FloatFormat) -> np.ndarray:
    """Return `b` with exponents for which the product with `a` is near the borders of `addend`."""
    exponent = a >> form.fraction_width & form.exponent_mask
    least = 1 - addend.bias + rng.integers(-addend.significand_width - 3, 3, len(a))
    most = addend.bias + rng.integers(-2, 3, len(a))
    field = np.where(rng.random(len(a)) < 0.6, least, most) + 2 * form.bias - exponent
    field = np.clip(field, 0, form.exponent_mask - form.has_infinity)
    return b & ~(form.exponent_mask << form.fraction_width) | field << form.fraction_width


def nearly_opposite(rng, a, b, kind, form: FloatFormat, addend: FloatFormat) -> np.ndarray:
    """Return addends that nearly cancel the product.

    Kind 3 moves them to other exponents, kind 4 up to a power of two.
    """
    count = len(a)
    with np.errstate(invalid="ignore"):
        product = floats.decode(a, form) * floats.decode(b, form)
    opposite = floats.encode(-product, addend).astype(np.int64)
    reach = 2 * addend.significand_width + 4
    distance = rng.integers(-reach, reach + 1, count) << addend.fraction_width
    steps = rng.integers(-3, 4, count)
    power = (opposite | addend.fraction_mask) + 1
    moved = np.select([kind == 3, kind == 4], [opposite + distance, power], opposite) + (
        steps * (kind != 4)
    )
    turned = (rng.integers(0, 4, count) == 0) * addend.signed
    return (moved ^ turned << addend.magnitude_width) & ((1 << addend.width) - 1)
