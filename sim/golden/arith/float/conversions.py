"""Golden models of classification, comparison, sign injection and conversion of integers.

Whole arrays of stored bits in, stored bits and flags out, all uint32. They follow the RISC-V ISA
manual, "F Extension for Single-Precision Floating-Point", and IEEE 754-2019.
"""

import numpy as np

from .....hw.arith.float.classify import CLASS_LAYOUT
from .....hw.arith.float.compare import Comparison
from .....hw.arith.float.rounding import FLAGS, Rounding
from .....hw.arith.float.sign_inject import SignOperation
from .....hw.config.formats import FP32, INT32, FloatFormat, IntFormat
from .floats import decode, is_signalling, rounded, sign_extend

__all__ = ["classify", "compare", "from_integer", "sign_inject", "to_integer"]


def least_normal(form: FloatFormat) -> float:
    """Return the smallest normal number."""
    return float(np.ldexp(1.0, form.least_exponent + form.fraction_width))


def classify(i, form: FloatFormat = FP32) -> np.ndarray:
    """Return the one-hot class of each stored value, numbered as in ``fclass``."""
    values = decode(i, form)
    size = np.abs(values)
    signs = np.where(np.signbit(values), "negative", "positive")
    kinds = np.select(
        [np.isinf(values), size == 0, size < least_normal(form)],
        ["infinity", "zero", "subnormal"],
        "normal",
    )
    names = np.char.add(np.char.add(signs, "_"), kinds)
    names = np.where(np.isnan(values), "quiet_nan", names)
    names = np.where(is_signalling(i, form), "signalling_nan", names)
    result = np.zeros(values.shape, np.uint32)
    for name, field in CLASS_LAYOUT:
        result[names == name] = 1 << field.offset
    return result


def compare(operation, a, b, form: FloatFormat = FP32) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 or 0, or for MINIMUM and MAXIMUM one of the operands; and flags.

    `operation` is one `Comparison` or an array of them.
    """
    operation, a, b = np.broadcast_arrays(operation, a, b)
    x, y = decode(a, form), decode(b, form)
    # Numeric order, with -0 before +0 for MINIMUM and MAXIMUM.
    is_first = (x < y) | ((x == y) & (np.signbit(x) >= np.signbit(y)))
    minimum = np.where(np.isnan(y) | is_first, a, b)
    maximum = np.where(np.isnan(y) | ~is_first, a, b)
    picks = [np.where(np.isnan(x), b, pick) for pick in (minimum, maximum)]
    if form.has_nan:
        picks = [np.where(np.isnan(x) & np.isnan(y), form.nan, pick) for pick in picks]
    results = {
        Comparison.EQUAL: x == y,
        Comparison.LESS: x < y,
        Comparison.LESS_EQUAL: x <= y,
        Comparison.MINIMUM: picks[0],
        Comparison.MAXIMUM: picks[1],
    }
    chosen = [operation == name for name in results]
    result = np.select(chosen, [np.asarray(value, np.uint32) for value in results.values()])
    is_signalled = (operation == Comparison.LESS) | (operation == Comparison.LESS_EQUAL)
    invalid = is_signalling(a, form) | is_signalling(b, form)
    invalid |= is_signalled & (np.isnan(x) | np.isnan(y))
    return result.astype(np.uint32), np.where(invalid, FLAGS["invalid"], 0).astype(np.uint32)


def sign_inject(operation, a, b, form: FloatFormat = FP32) -> np.ndarray:
    """Return `a` with the sign of `b`, its inverse, or both signs XORed."""
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    sign = np.uint32(1 << form.magnitude_width)
    signs = {
        SignOperation.COPY: b & sign,
        SignOperation.NEGATE: ~b & sign,
        SignOperation.EXCLUSIVE_OR: (a ^ b) & sign,
    }
    chosen = [np.asarray(operation) == name for name in signs]
    return (a & ~sign) | np.select(chosen, list(signs.values()))


def from_integer(
    i,
    is_signed,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    integer: IntFormat = INT32,
    form: FloatFormat = FP32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return integers rounded to `form`, and flags."""
    i = np.asarray(i).astype(np.int64)
    values = np.where(is_signed, sign_extend(i, integer.width), i)
    return rounded(values.astype(np.float64), form, rounding)


def to_integer(
    i,
    is_signed,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    form: FloatFormat = FP32,
    integer: IntFormat = INT32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return floats rounded to integers, as stored bits, and flags: invalid or else inexact."""
    values, is_signed, rounding = np.broadcast_arrays(decode(i, form), is_signed, rounding)
    below = np.floor(values)
    with np.errstate(invalid="ignore"):
        rest = np.where(np.isfinite(values), values - below, 0.0)
    above = below + (rest > 0)
    half = np.where(rest > 0.5, above, below)
    is_tie = rest == 0.5
    results = {
        Rounding.NEAREST_EVEN: np.where(is_tie, 2 * np.floor(above / 2), half),
        Rounding.TOWARD_ZERO: np.where(values < 0, above, below),
        Rounding.DOWN: below,
        Rounding.UP: above,
        Rounding.NEAREST_AWAY: np.where(is_tie, np.where(values < 0, below, above), half),
    }
    whole = np.select([rounding == mode for mode in results], list(results.values()))
    least = np.where(is_signed, -(2.0 ** (integer.width - 1)), 0.0)
    largest = np.where(is_signed, 2.0 ** (integer.width - 1), 2.0**integer.width) - 1
    invalid = ~((whole >= least) & (whole <= largest))
    whole = np.where(np.isnan(values), largest, np.clip(whole, least, largest))
    stored = whole.astype(np.int64) & ((1 << integer.width) - 1)
    flags = np.where(invalid, FLAGS["invalid"], np.where(rest > 0, FLAGS["inexact"], 0))
    return stored.astype(np.uint32), flags.astype(np.uint32)
