"""Stimulus for dot products: all alignments, cancellation, classes, extremes."""

import numpy as np

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config.formats import FloatFormat
from spica.sim.golden.arith.float.floats import corners

__all__ = ["dot_operands"]

Rng = np.random.Generator
KINDS = (
    *("uniform", "near", "cancelling", "large_addend", "small_addend", "sparse", "tiny"),
    "corners",
)


def dot_operands(
    config: DotProductConfig, rng: Rng, count: int, kinds: tuple[str, ...] = KINDS
) -> dict[str, np.ndarray]:
    """Return `count` vectors for a dot product by port name, cycling through all `kinds`.

    ``uniform`` has random bits. ``near`` has exponents in a small window with a random position
    per vector. ``cancelling`` has pairs of products of opposite sign, with modified last bits.
    ``large_addend`` and ``small_addend`` have an addend about as far from the products as a term
    can be before it vanishes. ``sparse`` is mostly zeros, in grouped kinds half of the groups are
    all zeros. The sums of ``tiny`` are around the
    smallest number of the result's format. ``corners`` has many class borders. Infinities and NaN
    are rare except in ``corners``, as they would hide the sums.
    """
    shape = (count, config.terms)
    kind = rng.permutation(np.arange(count) % len(kinds))
    where = {name: (kind == number)[:, None] for number, name in enumerate(kinds)}
    none = np.zeros((count, 1), bool)

    a = finite(rng, random_values(rng, config.a_format, shape), config.a_format)
    b = finite(rng, random_values(rng, config.b_format, shape), config.b_format)
    near = ~where.get("uniform", none) & (rng.random((count, 1)) < 0.8)
    a = np.where(near, windowed(rng, a, config.a_format), a)
    b = np.where(near, windowed(rng, b, config.b_format), b)
    a, b = cancelled(rng, config, a, b, where.get("cancelling", none))
    sparse = where.get("sparse", none) & (rng.random(shape) < 0.7)
    if config.fused.group > 1:
        groups = rng.random((count, config.terms // config.fused.group)) < 0.5
        empty = np.repeat(groups, config.fused.group, axis=1)
        sparse |= where.get("sparse", none) & empty
    a = np.where(sparse, 0, a)
    is_corner = where.get("corners", none) & (rng.random(shape) < 0.15)
    a = np.where(is_corner, rng.choice(corners(config.a_format), shape), a)
    b = np.where(is_corner, rng.choice(corners(config.b_format), shape), b)
    operands = {"a": a.astype(np.uint32), "b": b.astype(np.uint32)}
    for name in ("a_scale", "b_scale") if config.scale else ():
        operands[name] = block_scales(rng, config, count)
    tiny = where.get("tiny", none)
    operands["b"] = np.where(tiny, least_factors(rng, config, operands), operands["b"])
    addends = beside_products(rng, config, operands, {k: v[:, 0] for k, v in where.items()})
    least_addends = rng.integers(0, 8, count) * rng.integers(0, 2, count)
    return operands | {"c": np.where(tiny[:, 0], least_addends, addends).astype(np.uint32)}


def random_values(rng: Rng, form: FloatFormat, shape) -> np.ndarray:
    """Return uniform random bits."""
    return rng.integers(0, 1 << form.width, shape, dtype=np.int64)


def finite(rng: Rng, values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `values` with most infinities and NaN replaced by the largest number."""
    magnitude = values & form.magnitude_mask
    replaced = (magnitude > form.largest) & (rng.random(values.shape) < 0.98)
    return np.where(replaced, values - magnitude + form.largest, values)


def with_exponent(values: np.ndarray, exponent, form: FloatFormat) -> np.ndarray:
    """Return `values` with new stored exponents, limited to finite numbers."""
    field = np.clip(exponent, 0, form.largest >> form.fraction_width) << form.fraction_width
    without_exponent = values & ~np.int64(form.exponent_mask << form.fraction_width)
    sign = without_exponent & ~np.int64(form.fraction_mask)
    return sign | np.minimum(field | (without_exponent & form.fraction_mask), form.largest)


def windowed(rng: Rng, values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `values` with the exponents of each row in a random window."""
    shape = (len(values), 1)
    centre = rng.integers(-2, form.exponent_mask + 2, shape)
    width = rng.choice([1, 2, 4, 9, 17, 30], shape)
    return with_exponent(values, centre + rng.integers(0, width, values.shape), form)


def cancelled(rng: Rng, config: DotProductConfig, a, b, where):
    """Return `a` and `b` with the second half of the terms as the negative of the first."""
    half = config.terms // 2
    order = rng.permuted(np.tile(np.arange(config.terms), (len(a), 1)), axis=1)
    twins = []
    for values, form, negative in ((a, config.a_format, 1), (b, config.b_format, 0)):
        twin = values.copy()
        rows = np.arange(len(a))[:, None]
        first, second = order[:, :half], order[:, half : 2 * half]
        moved = rng.integers(0, 2, first.shape) * (rng.random((len(a), 1)) < 0.5)
        copied = values[rows, first] ^ (negative << form.magnitude_width) ^ moved
        twin[rows, second] = copied
        twins.append(np.where(where, twin, values))
    return twins[0], twins[1]


def least_factors(rng: Rng, config: DotProductConfig, operands) -> np.ndarray:
    """Return factors `b` with products around the smallest number of the result's format."""
    form = config.b_format
    target = config.result_format.least_exponent + rng.integers(-8, 6, (len(operands["a"]), 1))
    target = target + rng.integers(0, 4, operands["a"].shape)
    surplus = product_exponents(config, operands) - target
    exponents = stored_exponents(operands["b"], form) - surplus
    return with_exponent(operands["b"].astype(np.int64), exponents, form).astype(np.uint32)


def beside_products(rng: Rng, config: DotProductConfig, operands, where) -> np.ndarray:
    """Return addends: of any size, near the largest product, or far above or below it."""
    form = config.addend_format
    count = len(operands["a"])
    values = finite(rng, random_values(rng, form, count), form)
    product = product_exponents(config, operands).max(axis=1) + form.bias
    reach = config.fused.fraction_width
    none = np.zeros(count, bool)
    distance = rng.integers(-3, 6, count)
    large = where.get("large_addend", none)
    small = where.get("small_addend", none)
    distance = np.where(large, rng.integers(reach - 4, reach + 4, count), distance)
    distance = np.where(small, -rng.integers(reach - 8, reach + 4, count), distance)
    beside = with_exponent(values, product + distance, form)
    values = np.where(where.get("uniform", none) | (rng.random(count) < 0.1), values, beside)
    is_corner = rng.random(count) < np.where(where.get("corners", none), 0.4, 0.05)
    values = np.where(is_corner, rng.choice(corners(form), count), values)
    return np.where(rng.random(count) < 0.1, 0, values).astype(np.uint32)


def product_exponents(config: DotProductConfig, operands) -> np.ndarray:
    """Return the exponents of all products, with their scales."""
    exponents = np.zeros(operands["a"].shape, np.int64)
    for name, form in (("a", config.a_format), ("b", config.b_format)):
        exponents += stored_exponents(operands[name], form) - form.bias
        if config.scale_format is not None:
            scales = stored_exponents(operands[f"{name}_scale"], config.scale_format)
            exponents += np.repeat(scales - config.scale_format.bias, config.offer.block, axis=1)
    return exponents


def stored_exponents(stored: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return the exponents of stored values; subnormals have that of the smallest normals."""
    exponents = (stored.astype(np.int64) & form.magnitude_mask) >> form.fraction_width
    return np.maximum(exponents, int(form.subnormals))


def block_scales(rng: Rng, config: DotProductConfig, count: int) -> np.ndarray:
    """Return scales: near 1, at the ends of their range, and random; few are NaN."""
    form = config.scale_format
    assert form is not None
    shape = (count, config.scales)
    one = form.bias << form.fraction_width
    near = one + rng.integers(-(4 << form.fraction_width), 5 << form.fraction_width, shape)
    end = rng.choice(corners(form), shape)
    anything = random_values(rng, form, shape)
    which = rng.random((count, 1))
    values = np.where(which < 0.6, near, np.where(which < 0.75, end, anything))
    return finite(rng, np.clip(values, 0, form.magnitude_mask), form).astype(np.uint32)
