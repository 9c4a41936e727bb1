"""Golden models of the arithmetic: stored bits in, stored bits out, whole arrays at a time.

Every result is the exact value rounded once to nearest, ties to even. The exact value of a sum
does not fit float64, so it is kept there *rounded to odd*: whoever rounds that to a format at
least two bits narrower gets what rounding the exact value would have given.

NaN results are the format's canonical quiet NaN: sign 0, fraction 100…0.
"""

from functools import cache

import numpy as np

from ...hw.formats import FP16, FP32, FloatFormat, IntFormat

__all__ = ["add", "convert", "corners", "decode", "encode", "multiply", "multiply_add"]


def decode(bits, form: FloatFormat) -> np.ndarray:
    """Return the values of stored `bits` as float64, exactly (NaN payloads are lost)."""
    bits = np.asarray(bits)
    if form == FP32:
        with np.errstate(invalid="ignore"):
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if form.width <= 16:
        return every_value(form)[bits]
    return decode_fields(bits.astype(np.int64), form)


@cache
def every_value(form: FloatFormat) -> np.ndarray:
    """Return the value of each code of a narrow format."""
    return decode_fields(np.arange(1 << form.width), form)


def decode_fields(bits: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return the values of stored `bits` from their fields."""
    fraction = bits & form.fraction_mask
    exponent = (bits >> form.fraction_width) & form.exponent_mask
    significand = fraction + np.where(exponent == 0, 0, 1 << form.fraction_width)
    scale = np.maximum(exponent, 1) - form.bias - form.fraction_width
    magnitude = np.ldexp(significand.astype(np.float64), scale)
    special = np.where(fraction == 0, np.inf, np.nan)
    magnitude = np.where(exponent == form.exponent_mask, special, magnitude)
    return np.where(bits >> (form.width - 1) & 1, -magnitude, magnitude)


def encode(values, form: FloatFormat) -> np.ndarray:
    """Return float64 `values` rounded to `form`, as stored bits (uint32)."""
    values = np.asarray(values, dtype=np.float64)
    sign = np.signbit(values).astype(np.int64) << (form.width - 1)
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0.0)
    # One unit in the last place is 2**quantum; below the least normal it stops shrinking.
    least = 1 - form.bias - form.fraction_width
    exponent = np.where(magnitude > 0, np.frexp(magnitude)[1], least)
    quantum = np.maximum(exponent - form.significand_width, least)
    units = np.rint(np.ldexp(magnitude, -quantum)).astype(np.int64)
    # The hidden bit of `units` and a carry out of it add to the exponent field by themselves;
    # zero and subnormals have neither.
    stored = units + ((quantum - least).astype(np.int64) << form.fraction_width)
    stored = np.where(finite, np.minimum(stored, form.infinity), form.infinity)
    return np.where(np.isnan(values), form.nan, sign | stored).astype(np.uint32)


def sum_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``a + b`` in float64, rounded to odd: an inexact result gets an odd last bit."""
    with np.errstate(invalid="ignore"):
        total = a + b
        # TwoSum: `error` is exactly what the rounding of `total` lost.
        virtual = total - a
        error = (a - (total - virtual)) + (b - virtual)
        bits = total.view(np.int64)
        even = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
        away = np.where((error < 0) == (total < 0), 1, -1)
    return (bits + np.where(even, away, 0)).view(np.float64)


def round_to(values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return what `encode` does; FP32 goes by NumPy's own conversion, which is faster."""
    if form != FP32:
        return encode(values, form)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = values.astype(np.float32).view(np.uint32)
    return np.where(np.isnan(values), np.uint32(form.nan), stored)


def multiply_add(
    a,
    b,
    c,
    *,
    operand: FloatFormat | IntFormat = FP16,
    accumulator: FloatFormat | IntFormat = FP32,
) -> np.ndarray:
    """Return ``a * b + c``: one rounding for floats, modulo ``2**width`` for integers."""
    if isinstance(operand, IntFormat):
        a, b = (sign_extend(x, operand.width) for x in (a, b))
        total = a * b + np.asarray(c).astype(np.int64)
        return (total & ((1 << accumulator.width) - 1)).astype(np.uint32)
    assert isinstance(accumulator, FloatFormat)
    with np.errstate(invalid="ignore"):
        product = decode(a, operand) * decode(b, operand)
    return round_to(sum_to_odd(product, decode(c, accumulator)), accumulator)


def add(a, b, form: FloatFormat = FP32) -> np.ndarray:
    """Return ``a + b`` rounded once."""
    return round_to(sum_to_odd(decode(a, form), decode(b, form)), form)


def multiply(a, b, form: FloatFormat = FP32) -> np.ndarray:
    """Return ``a * b`` rounded once; float64 holds the product exactly."""
    with np.errstate(invalid="ignore"):
        return round_to(decode(a, form) * decode(b, form), form)


def convert(bits, source: FloatFormat = FP32, target: FloatFormat = FP16) -> np.ndarray:
    """Return stored `bits` of format `source` rounded to format `target`."""
    return encode(decode(bits, source), target)


def sign_extend(bits, width: int) -> np.ndarray:
    """Return the two's complement value of the low `width` bits as int64."""
    bits = np.asarray(bits).astype(np.int64) & ((1 << width) - 1)
    return bits - ((bits >> (width - 1)) << width)


def corners(form: FloatFormat | IntFormat) -> np.ndarray:
    """Return stored bits of every class and its borders, both signs."""
    if isinstance(form, IntFormat):
        half = 1 << (form.width - 1)
        return np.array([0, 1, 2, half - 2, half - 1, half, half + 1, 2 * half - 1], np.uint32)
    least_normal = 1 << form.fraction_width
    one = form.bias << form.fraction_width
    magnitudes = [
        *(0, 1, 2, 3, least_normal // 2, least_normal - 1, least_normal, least_normal + 1),
        *(one - 1, one, one + 1, one + 2, one + least_normal // 2, one + least_normal - 1),
        *(form.infinity - least_normal, form.infinity - 2, form.infinity - 1, form.infinity),
        *(form.infinity + 1, form.nan, form.nan + 1, form.nan + least_normal // 2 - 1),
    ]
    positive = np.array(magnitudes, np.uint32)
    return np.concatenate([positive, positive | np.uint32(1 << (form.width - 1))])
