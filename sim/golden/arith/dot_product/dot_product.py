"""Golden model of dot-product units, bit-exact, on whole arrays.

The fused sum of NVIDIA's tensor cores, as defined by MMA-Sim (Xie et al., arXiv 2511.10909), and
by Khattak and Mikaitis (arXiv 2512.07004):

1. Factors are decoded; subnormals keep their leading zeros and the smallest normal exponent.
2. Products are exact and not normalised: significands multiply, exponents add.
3. The largest exponent is that of all nonzero terms, addend included, and at least
   `config.alignment_floor`.
4. Each term's magnitude is truncated to a number of fraction bits at that exponent.
5. The terms are added exactly and the sum is rounded once: toward zero to FP32, to nearest even to
   FP16. Values beyond the largest number become infinity.

A sum of zero is +0; one that is rounded to zero keeps its sign. The exponents of scaled terms
include those of their scales. In the FP4 kinds a term is the exact sum of a group times the
significands of its scales, and its exponent is that of the scales alone. With
`config.zero_groups` a zero group has that exponent too.

If the addend is not a term, the fused sums of an instruction are chained from zero. Their total
and the addend are then added and rounded to nearest even.
"""

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.config.formats import FloatFormat
from ..float import floats
from ..stored import require_stored
from .tree import require_operands, tree_dot_product

__all__ = ["dot_product"]

#: Larger shifts of an int64 have the same effect: no operand has more bits.
FAR = 62


def dot_product(config: DotProductConfig, a, b, c, a_scale=None, b_scale=None) -> np.ndarray:
    """Return the dot products of the rows of `a` and `b`, plus `c`, as stored bits (uint32).

    Parameters
    ----------
    config : DotProductConfig
        Formats and numerics.
    a, b : arrays of stored bits
        One row of `config.terms` factors per result; integers, not numbers of a float type.
    c : array of stored bits
        One addend per result.
    a_scale, b_scale : arrays of stored bits, or None
        One row of `config.scales` per result; None if the config has no scales.

    """
    if config.is_tree:
        require_scales(config, a_scale, b_scale)
        return tree_dot_product(config, a, b, c)
    a, b, result = require_operands(config, a, b, c)
    scales = require_scales(config, a_scale, b_scale, len(a))
    form = config.addend_format
    per_sum, is_separate = config.chunks_per_addend, config.fused.separate_addend
    for first in range(0, config.chunks, per_sum):
        total = np.zeros_like(result) if is_separate else result
        for chunk in range(first, first + per_sum):
            columns = np.array(config.chunk_columns[chunk])
            chosen = [
                scale[:, columns[:: config.offer.block] // config.offer.block] for scale in scales
            ]
            total = fused_sum(config, a[:, columns], b[:, columns], total, form, chosen)
            form = config.result_format
        result = added(config, total, result) if is_separate else total
    return result.astype(np.uint32)


def require_scales(config: DotProductConfig, a_scale, b_scale, count: int = 0) -> list[np.ndarray]:
    """Return the scales of `count` results as integers; raise unless the config has them."""
    scales = {"a_scale": a_scale, "b_scale": b_scale}
    if config.scale_format is None:
        if given := [name for name, scale in scales.items() if scale is not None]:
            raise ValueError(f"{given[0]} must be None: the config has no scales")
        return []
    if missing := [name for name, scale in scales.items() if scale is None]:
        raise ValueError(f"{missing[0]} must be given: scales are {config.scale}")
    width, shape = config.scale_format.width, (count, config.scales)
    return [
        require_stored(name, np.atleast_2d(scale), width, shape).astype(np.int64)
        for name, scale in scales.items()
    ]


def added(config: DotProductConfig, total, addend) -> np.ndarray:
    """Return the sum of a finished total and the addend; NaN is all ones except the sign."""
    form = config.result_format
    result = floats.add(total, addend, form).astype(np.int64)
    return np.where(result == form.nan, form.magnitude_mask, result)


def fused_sum(config: DotProductConfig, a, b, c, addend: FloatFormat, scales) -> np.ndarray:
    """Return one fused sum of all columns of `a` and `b`, and of `c`."""
    signs, magnitudes, exponents, fraction_width, present = fused_terms(config, a, b, scales)
    c_sign, c_magnitude, c_exponent = fields(c, addend)
    fused_width = config.fused.fraction_width

    all_present = np.column_stack([present, c_magnitude != 0])
    all_exponents = np.column_stack([exponents, c_exponent])
    floor = config.alignment_floor
    largest = np.maximum(np.where(all_present, all_exponents, floor).max(axis=1), floor)
    terms = aligned(magnitudes, exponents - largest[:, None] + fused_width - fraction_width)
    total = np.where(signs, -terms, terms).sum(axis=1)
    addend_term = aligned(c_magnitude, c_exponent - largest + fused_width - addend.fraction_width)
    total += np.where(c_sign, -addend_term, addend_term)

    stored = rounded_sum(config, total, largest - fused_width)
    return with_specials(config, stored, a, b, c, addend, scales)


def fields(bits: np.ndarray, form: FloatFormat):
    """Return signs, significands as integers, and exponents of finite stored values."""
    magnitude = bits & form.magnitude_mask
    exponent = magnitude >> form.fraction_width
    is_normal = (exponent > 0) | (not form.subnormals)
    significand = (magnitude & form.fraction_mask) | np.where(
        is_normal, 1 << form.fraction_width, 0
    )
    sign = (bits >> form.magnitude_width & 1) if form.signed else np.zeros_like(bits)
    return sign, significand, np.maximum(exponent, int(form.subnormals)) - form.bias


def fused_terms(config: DotProductConfig, a, b, scales):
    """Return signs, integer magnitudes and exponents of the terms, and their fraction bits.

    Also return which terms take part in the largest exponent.
    """
    a_sign, a_significand, a_exponent = fields(a, config.a_format)
    b_sign, b_significand, b_exponent = fields(b, config.b_format)
    signs = a_sign ^ b_sign
    products = a_significand * b_significand
    exponents = a_exponent + b_exponent
    fraction_width = config.a_format.fraction_width + config.b_format.fraction_width
    if not scales:
        return signs, products, exponents, fraction_width, products != 0

    group = config.fused.group
    if group > 1:
        # Products are aligned to the smallest exponent, that of 1 or less for each factor.
        least = 2 - config.a_format.bias - config.b_format.bias
        values = np.where(signs, -products, products) << (exponents - least)
        sums = values.reshape(len(a), -1, group).sum(axis=2)
        signs, products = sums < 0, np.abs(sums)
        exponents = np.full(products.shape, least)
    present = (products != 0) | (group > 1 and config.zero_groups)
    repeats = config.offer.block // group
    for scale in scales:
        assert config.scale_format is not None
        _, significand, exponent = fields(scale, config.scale_format)
        significand, exponent = (np.repeat(x, repeats, axis=1) for x in (significand, exponent))
        products, exponents = products * significand, exponents + exponent
        present = present & (significand != 0)
        fraction_width += config.scale_format.fraction_width
    return signs, products, exponents, fraction_width, present


def aligned(magnitudes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return `magnitudes` times ``2**places``, truncated."""
    left = magnitudes << np.clip(places, 0, FAR)
    return left >> np.clip(-places, 0, FAR)


def rounded_sum(config: DotProductConfig, total: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return ``total * 2**unit`` rounded to the result's format."""
    form = config.result_format
    to_nearest = config.result == "fp16"
    digits = form.fraction_width if to_nearest else config.fused.result_fraction_width
    magnitude = np.abs(total)
    leading = np.frexp(magnitude.astype(np.float64))[1] - 1 + unit
    leading = np.maximum(leading, 1 - form.bias)
    # Bits of the sum below the last digit of the result.
    below = leading - digits - unit
    units = aligned(magnitude, -below)
    if to_nearest:
        rest = magnitude - aligned(units, below)
        half = aligned(np.ones_like(rest), below - 1)
        up = (rest > half) | ((rest == half) & (units & 1 == 1))
        units += (below > 0) & up
    # The hidden bit of the units, and a carry, add to the exponent field implicitly.
    field = np.where(total == 0, 0, leading + form.bias - 1) << form.fraction_width
    stored = field + (units << (form.fraction_width - digits))
    stored = np.minimum(stored, form.infinity)
    return stored | (total < 0).astype(np.int64) << form.magnitude_width


def with_specials(config: DotProductConfig, stored, a, b, c, addend: FloatFormat, scales):
    """Return `stored` with infinities and NaN substituted; NaN is all ones except the sign."""
    form = config.result_format
    a_zero, a_infinite, a_nan = classes(a, config.a_format)
    b_zero, b_infinite, b_nan = classes(b, config.b_format)
    _, c_infinite, c_nan = classes(c, addend)
    negative = (a >> config.a_format.magnitude_width ^ b >> config.b_format.magnitude_width) & 1
    c_negative = c >> addend.magnitude_width & 1

    infinite = a_infinite | b_infinite
    plus = (infinite & (negative == 0)).any(axis=1) | (c_infinite & (c_negative == 0))
    minus = (infinite & (negative == 1)).any(axis=1) | (c_infinite & (c_negative == 1))
    nan = (a_nan | b_nan | (a_infinite & b_zero) | (b_infinite & a_zero)).any(axis=1)
    nan |= c_nan | (plus & minus)
    for scale in scales:
        assert config.scale_format is not None
        nan |= classes(scale, config.scale_format)[2].any(axis=1)
    stored = np.where(plus, form.infinity, stored)
    stored = np.where(minus, form.infinity | 1 << form.magnitude_width, stored)
    return np.where(nan, form.magnitude_mask, stored)


def classes(bits: np.ndarray, form: FloatFormat):
    """Return whether each stored value is zero, infinite, NaN."""
    magnitude = bits & form.magnitude_mask
    infinite = (magnitude == form.infinity) if form.has_infinity else np.zeros(bits.shape, bool)
    return magnitude == 0, infinite, (magnitude > form.largest) & ~infinite
