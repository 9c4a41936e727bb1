"""Golden models of floating-point arithmetic on whole arrays of stored bits.

Every result is the exact value rounded once. The exact value of a sum, quotient or root does not
fit float64, so it is held there *rounded to odd*. Rounding that to a format at least two bits
narrower gives, in any mode, the same result as rounding the exact value.

NaN results are the format's canonical quiet NaN: sign 0, fraction 100…0.
"""

from functools import cache

import numpy as np

from .....hw.arith.float.rounding import FLAGS, Rounding
from .....hw.config.formats import FP16, FP32, FloatFormat, IntFormat
from ..stored import require_members

__all__ = [
    "add",
    "convert",
    "corners",
    "decode",
    "encode",
    "is_signalling",
    "multiply",
    "multiply_add",
    "rounded",
    "sum_to_odd",
]


def decode(bits, form: FloatFormat) -> np.ndarray:
    """Return the values of stored `bits` as float64, exactly (NaN payloads are lost)."""
    bits = np.asarray(bits)
    if bits.dtype.kind not in "iu":
        raise TypeError(f"bits must be stored bits as integers, not {bits.dtype}")
    if form == FP32:
        with np.errstate(invalid="ignore"):
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if form.width <= 16:
        return every_value(form)[bits]
    return decode_fields(bits.astype(np.int64), form)


@cache
def every_value(form: FloatFormat) -> np.ndarray:
    """Return the values of all codes of a narrow format."""
    return decode_fields(np.arange(1 << form.width), form)


def decode_fields(bits: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return the values of stored `bits` from their fields."""
    stored = bits & form.magnitude_mask
    fraction = stored & form.fraction_mask
    exponent = stored >> form.fraction_width
    is_normal = (exponent > 0) | (not form.subnormals)
    significand = fraction + np.where(is_normal, 1 << form.fraction_width, 0)
    scale = np.maximum(exponent, int(form.subnormals)) - form.bias - form.fraction_width
    magnitude = np.ldexp(significand.astype(np.float64), scale)
    magnitude = np.where(stored > form.largest, np.nan, magnitude)
    if form.has_infinity:
        magnitude = np.where(stored == form.infinity, np.inf, magnitude)
    return np.where(bits >> form.magnitude_width & 1, -magnitude, magnitude)


def is_signalling(bits, form: FloatFormat) -> np.ndarray:
    """Return which stored `bits` are signalling NaN; formats with a single NaN have none."""
    stored = np.asarray(bits) & form.magnitude_mask
    if not form.has_infinity:
        return np.zeros(stored.shape, bool)
    return (stored > form.infinity) & (stored < form.nan)


def encode(
    values,
    form: FloatFormat,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    saturate: bool = False,
) -> np.ndarray:
    """Return float64 `values` rounded to `form`, as stored bits (uint32); see `rounded`."""
    return rounded(values, form, rounding, saturate=saturate)[0]


def rounded(
    values,
    form: FloatFormat,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    saturate: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 `values` rounded to `form`, as stored bits, and their flags (both uint32).

    Flags are those of rounding alone: inexact, underflow (tininess after rounding), overflow.
    They assume that `values` are finite, or that the operation was exact for infinity and NaN.

    Parameters
    ----------
    values : array of float64
        Exact, or rounded to odd.
    form : FloatFormat
        Target format.
    rounding : Rounding or array of them
        One mode for all values, or one per value.
    saturate : bool
        Overflow, infinity included, becomes the largest number instead of infinity (NaN in a
        format without infinity, the largest number in one without either). Values below the
        range of an unsigned format become its smallest number instead of NaN.

    A NaN becomes the largest number in a format without NaN. Ties go to the even code.
    """
    require_members("rounding", rounding, Rounding)
    values, rounding = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(rounding))
    negative = np.signbit(values)
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0.0)
    # One unit in the last place is 2**quantum; below the smallest normal it stays constant.
    least = form.least_exponent
    unbounded = np.where(magnitude > 0, np.frexp(magnitude)[1], least) - form.significand_width
    quantum = np.maximum(unbounded, least)
    # The hidden bit of the units and a carry out of it add to the exponent field implicitly; zero
    # and subnormals have neither.
    hidden = 0 if form.subnormals else 1 << form.fraction_width
    field = ((quantum - least).astype(np.int64) << form.fraction_width) - hidden
    stored, inexact = rounded_units(magnitude, quantum, field, negative, rounding)
    stored = np.maximum(stored, 0)

    # Tiny after rounding: below the smallest normal even at the precision of a normal number.
    normal = 1 << form.fraction_width
    full, _ = rounded_units(magnitude, unbounded, np.zeros_like(field), negative, rounding)
    places = np.minimum(unbounded - least, 0)
    tiny = (places < 0) & (np.ldexp(full.astype(np.float64), places) < normal)

    overflow = finite & (stored > form.largest)
    toward = (rounding == Rounding.TOWARD_ZERO) | (
        rounding == np.where(negative, Rounding.UP, Rounding.DOWN)
    )
    beyond = form.largest if saturate else form.overflow
    stored = np.where(overflow, np.where(toward, form.largest, beyond), stored)
    stored = np.where(np.isinf(values), beyond, stored)
    nan = form.nan if form.has_nan else form.largest
    if form.signed:
        stored = stored | negative.astype(np.int64) << form.magnitude_width
    else:
        below = negative & (values != 0) | (values == 0) & (not form.subnormals)
        stored = np.where(below, 0 if saturate else nan, stored)
    is_nan = np.isnan(values) | (form.has_nan & ((stored & form.magnitude_mask) == nan))
    stored = np.where(is_nan, nan, stored)

    flags = np.where(inexact | overflow, FLAGS["inexact"], 0)
    flags |= np.where(tiny & inexact, FLAGS["underflow"], 0)
    flags |= np.where(overflow, FLAGS["overflow"], 0)
    return stored.astype(np.uint32), flags.astype(np.uint32)


def rounded_units(magnitude, quantum, field, negative, rounding):
    """Return `magnitude` rounded to units of ``2**quantum`` plus `field`, and what is inexact."""
    scaled = np.ldexp(magnitude, -quantum)
    whole = np.floor(scaled)
    rest = scaled - whole
    code = whole.astype(np.int64) + field
    up = np.select(
        [rounding == mode for mode in Rounding],
        [
            (rest > 0.5) | ((rest == 0.5) & (code & 1 == 1)),
            np.zeros(rest.shape, bool),
            (rest > 0) & negative,
            (rest > 0) & ~negative,
            rest >= 0.5,
        ],
    )
    return code + up, rest > 0


def sum_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``a + b`` in float64, rounded to odd: an inexact result gets an odd last bit."""
    with np.errstate(invalid="ignore"):
        total = a + b
        # TwoSum: `error` is exactly the rounding error of `total`.
        virtual = total - a
        error = (a - (total - virtual)) + (b - virtual)
        bits = total.view(np.int64)
        even = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
        away = np.where((error < 0) == (total < 0), 1, -1)
    return (bits + np.where(even, away, 0)).view(np.float64)


def round_to(values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `encode` to nearest even; FP32 uses NumPy's conversion, which is faster."""
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


def convert(
    bits,
    source: FloatFormat = FP32,
    target: FloatFormat = FP16,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    saturate: bool = False,
) -> np.ndarray:
    """Return stored `bits` of format `source` rounded to format `target`."""
    return encode(decode(bits, source), target, rounding, saturate=saturate)


def sign_extend(bits, width: int) -> np.ndarray:
    """Return the two's complement value of the low `width` bits as int64."""
    bits = np.asarray(bits).astype(np.int64) & ((1 << width) - 1)
    return bits - ((bits >> (width - 1)) << width)


def corners(form: FloatFormat | IntFormat) -> np.ndarray:
    """Return stored bits of every class and its borders, both signs; all codes if narrow."""
    if isinstance(form, IntFormat):
        half = 1 << (form.width - 1)
        values = [0, 1, 2, half - 2, half - 1, half, half + 1, 2 * half - 1]
        return np.unique(np.array(values, np.uint32))
    if form.width <= 6:
        return np.arange(1 << form.width, dtype=np.uint32)
    least_normal = 1 << form.fraction_width
    one = form.bias << form.fraction_width
    largest = form.largest
    magnitudes = [
        *(0, 1, 2, 3, least_normal // 2, least_normal - 1, least_normal, least_normal + 1),
        *(one - 1, one, one + 1, one + 2, one + least_normal // 2, one + least_normal - 1),
        *(largest - least_normal + 1, largest - 1, largest, largest + 1, largest + 2),
        *(largest + 1 + least_normal // 2, largest + 2 + least_normal // 2),
        form.magnitude_mask,
    ]
    positive = np.array(
        [m for m in dict.fromkeys(magnitudes) if m <= form.magnitude_mask], np.uint32
    )
    if not form.signed:
        return positive
    return np.concatenate([positive, positive | np.uint32(1 << form.magnitude_width)])
