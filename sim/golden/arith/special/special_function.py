"""Golden model of the special functions, bit-exact: stored FP32 in and out.

Each function is reduced to a table's argument `v` from 0 to below 1. The result is a quadratic in
the segment of `v`, times a factor, times a power of two, rounded to nearest. This model defines
every inexact step: the width of the reduced argument, and the dropped bits of products.
"""

from functools import cache

import numpy as np

from .....hw.arith.special import functions as special
from .....hw.arith.special.coefficients import COEFFICIENTS, INVERSE_TURN, INVERSE_TURN_WIDTH
from .....hw.arith.special.functions import TABLES
from .....hw.config.formats import FP32
from .....hw.isa.operations import SpecialOperation
from ..float import floats
from ..stored import require_members, require_stored
from .truncated_products import DIGIT_MAGNITUDE, interpolate, truncated_product

__all__ = ["special_function"]

#: Vectors processed at a time: few enough for a processor's cache.
CHUNK = 1 << 14

HIDDEN = 1 << FP32.fraction_width


@cache
def coefficients(name: str) -> np.ndarray:
    """Return the rows c0, c1 and c2 of a table."""
    return np.array(COEFFICIENTS[name], np.int64).T.copy()


def lookup(name: str, v: np.ndarray) -> np.ndarray:
    """Return the value of table `name` at the arguments `v`."""
    segment = np.zeros_like(v)
    x = np.zeros_like(v)
    before = 0
    for piece in TABLES[name].pieces:
        length = special.ARGUMENT_WIDTH - piece.index_width
        index = v >> length
        inside = (index >= piece.first) & (index <= piece.last)
        segment = np.where(inside, index - piece.first + before, segment)
        position = (v & ((1 << length) - 1)) << (special.OFFSET_WIDTH - length)
        x = np.where(inside, position, x)
        before += piece.last - piece.first + 1
    c0, c1, c2 = coefficients(name)[:, segment]
    return interpolate(c0, c1, c2, x)


def lookup_either(name: str, other: str, choice: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the value of table `other` if `choice`, else of `name`."""
    result = np.empty_like(v)
    result[~choice] = lookup(name, v[~choice])
    result[choice] = lookup(other, v[choice])
    return result


def multiply(value, factor, carry, negative=0) -> np.ndarray:
    """Return ``value * (factor + carry)`` as a product, negated if `negative`."""
    return special.PRODUCT_BIAS + truncated_product(
        value,
        factor,
        digits=special.FACTOR_DIGITS,
        dropped=special.VALUE_WIDTH + special.FACTOR_WIDTH - special.PRODUCT_WIDTH,
        carry=carry,
        negative=negative,
    )


def bit_length(x: np.ndarray) -> np.ndarray:
    """Return the number of bits of integers below ``2**53``."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def normalised(x: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `x` as a factor from 1 to below 2, the increment that rounds it, and its exponent.

    `x` is in units of ``2**-width``. Zero stays zero.
    """
    length = bit_length(x)
    # One bit more, which decides the rounding.
    places = special.FACTOR_WIDTH + 2 - length
    doubled = np.where(places >= 0, x << np.maximum(places, 0), x >> np.maximum(-places, 0))
    return doubled >> 1, doubled & 1, length - 1 - width


def scaled(product: np.ndarray, exponent) -> np.ndarray:
    """Return ``product * 2**exponent`` exactly, for a product of `multiply`."""
    return np.ldexp(product.astype(np.float64), exponent - special.PRODUCT_WIDTH)


def value_of(value: np.ndarray, exponent) -> np.ndarray:
    """Return ``value * 2**exponent`` exactly, for a value of a table."""
    return np.ldexp(value.astype(np.float64), exponent - special.VALUE_WIDTH)


def split(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return significands, with the hidden bit, and exponents of positive stored numbers."""
    stored = a & FP32.magnitude_mask
    fraction, exponent = stored & FP32.fraction_mask, stored >> FP32.fraction_width
    significand = np.where(exponent > 0, fraction | HIDDEN, fraction)
    places = FP32.significand_width - bit_length(significand)
    return significand << places, np.maximum(exponent, 1) - FP32.bias - places


def argument(significand: np.ndarray) -> np.ndarray:
    """Return the fraction of a significand as a table's argument."""
    return (significand - HIDDEN) << (special.ARGUMENT_WIDTH - FP32.fraction_width)


def reciprocal(a: np.ndarray) -> np.ndarray:
    significand, exponent = split(a)
    return value_of(lookup("rcp", argument(significand)), -exponent)


def reciprocal_root(a: np.ndarray) -> np.ndarray:
    significand, exponent = split(a)
    is_odd = exponent & 1 == 1
    value = lookup_either("rsqrt", "rsqrt_odd", is_odd, argument(significand))
    return value_of(value, -(exponent >> 1))


def exponential(a: np.ndarray) -> np.ndarray:
    """Return ``2**a``; a is rounded down to `ARGUMENT_WIDTH` fraction bits."""
    with np.errstate(over="ignore"):
        units = np.floor(np.ldexp(floats.decode(a, FP32), special.ARGUMENT_WIDTH))
    # Far beyond the range of FP32 at both ends.
    limit = 1 << (special.ARGUMENT_WIDTH + 8)
    units = np.clip(units, -limit, limit).astype(np.int64)
    whole, v = units >> special.ARGUMENT_WIDTH, units & ((1 << special.ARGUMENT_WIDTH) - 1)
    return value_of(lookup("exp2", v), whole + 1)


def logarithm(a: np.ndarray) -> np.ndarray:
    """Return ``log2(a) = e + t * (log2(1 + t) / t)``, where a is ``(1 + t) * 2**e``."""
    significand, e = split(a)
    is_upper = significand >= HIDDEN + (HIDDEN >> special.LOG2_UPPER_WIDTH) * special.LOG2_UPPER
    e = e + is_upper
    v = argument(significand)
    # A subnormal uses the complement, one unit less; its logarithm is far from zero.
    is_subnormal = (a >> FP32.fraction_width) == 0
    upper = ((1 << special.ARGUMENT_WIDTH) - v - is_subnormal) >> 1
    v = np.where(is_upper, upper, v)

    factor, carry, exponent = normalised(v, special.ARGUMENT_WIDTH)
    is_near = e == 0
    factor = np.where(is_near, factor, v << (special.FACTOR_WIDTH - special.ARGUMENT_WIDTH))
    value = lookup_either("log2", "log2_upper", is_upper, v)
    negative = ~is_near & (is_upper ^ (e < 0))
    half = np.abs(e) << (special.PRODUCT_WIDTH - 1)
    magnitude = half + multiply(value, factor, carry, negative.astype(np.int64))
    result = scaled(magnitude, np.where(is_near, exponent, 0) + 1)
    result = np.where(is_near & (v == 0), 0.0, result)
    return np.where(np.where(is_near, is_upper, e < 0), -result, result)


def turns(significand: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return ``significand * 2**exponent / (2 pi)`` modulo 1, in units of ``2**-TURN_WIDTH``.

    Payne and Hanek's reduction. Of 1 / (2 pi), it uses only the bits whose product with the
    significand is neither a whole number of turns nor below the result's unit.
    """
    e = np.arange(-1, FP32.bias + 1)
    lowest = INVERSE_TURN_WIDTH - (e - FP32.fraction_width + special.WINDOW_WIDTH)
    mask = (1 << special.WINDOW_WIDTH) - 1
    window = np.array([INVERSE_TURN >> int(n) & mask for n in lowest], np.int64)
    total = np.zeros_like(significand)
    chosen = window[exponent + 1]
    for digit in range(special.SIGNIFICAND_DIGITS):
        bits = (significand << 1 >> 2 * digit) & 7
        multiple = chosen * DIGIT_MAGNITUDE[bits]
        places = special.WINDOW_WIDTH - special.TURN_WIDTH - 2 * digit
        total += (multiple >> places) ^ -(bits >> 2)
    return total & ((1 << special.TURN_WIDTH) - 1)


def circular(a: np.ndarray, is_cosine: bool) -> np.ndarray:
    """Return the sine or cosine of `a` in radians."""
    significand, exponent = split(a)
    result = np.empty(len(a))
    is_tiny = exponent < special.TINY_ANGLE
    sine = np.ldexp(significand.astype(np.float64), exponent - FP32.fraction_width)
    result[is_tiny] = 1.0 if is_cosine else sine[is_tiny]
    result[~is_tiny] = circular_of(significand[~is_tiny], exponent[~is_tiny], is_cosine)
    if not is_cosine:
        result = np.where(a >> 31 == 1, -result, result)
    return result


def circular_of(significand, exponent, is_cosine: bool) -> np.ndarray:
    """Return the sine or cosine of a positive number that is not tiny."""
    # A small angle has octant 0. It is held with eight times the resolution, without the octant,
    # and shifted by its exponent.
    is_small = exponent < -1
    word = turns(significand, np.where(is_small, 1, exponent))
    octant = np.where(is_small, 0, word >> (special.TURN_WIDTH - 3))
    mask = (1 << special.TURN_WIDTH) - 1
    # A 1 after the last known bit selects the middle of the range that the bits represent.
    large = (word ^ -(octant & 1)) << 3 & mask | 4
    word = np.where(is_small, word, large)
    shift = np.where(is_small, -2 - exponent, 0)
    v = word >> shift >> (special.TURN_WIDTH - special.ARGUMENT_WIDTH)

    quadrant = (octant >> 1) + is_cosine
    is_cosine_table = (quadrant & 1 == 1) ^ (octant & 1 == 1)
    factor, carry, factor_exponent = normalised(word, special.TURN_WIDTH)
    value = lookup_either("sin", "cos", is_cosine_table, v)
    magnitude = np.where(
        is_cosine_table,
        value_of(value, 0),
        scaled(multiply(value, factor, carry), factor_exponent - shift),
    )
    return np.where(quadrant & 2 == 2, -magnitude, magnitude)


def special_function(operation, a) -> np.ndarray:
    """Return the functions `operation` (one, or one per number) of stored FP32 numbers."""
    require_members("operation", operation, SpecialOperation)
    a = require_stored("a", a, FP32.width).astype(np.int64)
    a, operation = np.broadcast_arrays(a, np.asarray(operation))
    result = np.empty(a.shape, np.uint32)
    for one in SpecialOperation:
        (chosen,) = np.nonzero(operation == one)
        for start in range(0, len(chosen), CHUNK):
            part = chosen[start : start + CHUNK]
            result[part] = one_function(one, a[part])
    return result


#: Values at +0, -0, +infinity and -infinity.
LIMITS = {
    SpecialOperation.RCP: (np.inf, -np.inf, 0.0, -0.0),
    SpecialOperation.RSQRT: (np.inf, -np.inf, 0.0, np.nan),
    SpecialOperation.EXP2: (1.0, 1.0, np.inf, 0.0),
    SpecialOperation.LOG2: (-np.inf, -np.inf, np.inf, np.nan),
    SpecialOperation.SIN: (0.0, -0.0, np.nan, np.nan),
    SpecialOperation.COS: (1.0, 1.0, np.nan, np.nan),
}


def one_function(operation: SpecialOperation, a: np.ndarray) -> np.ndarray:
    """Return one function of stored numbers, stored."""
    is_negative = a >> 31 == 1
    stored = a & FP32.magnitude_mask
    limits = np.array([0, 1 << 31, FP32.infinity, FP32.infinity | 1 << 31])
    one = FP32.bias << FP32.fraction_width
    # Anything but a positive number is replaced during the computation.
    is_number = (stored > 0) & (stored < FP32.infinity)
    safe = np.where(is_number, a, one)
    if operation in (SpecialOperation.RSQRT, SpecialOperation.LOG2):
        safe = safe & FP32.magnitude_mask
    match operation:
        case SpecialOperation.RCP:
            value = reciprocal(safe)
            value = np.where(is_negative, -value, value)
        case SpecialOperation.RSQRT:
            value = np.where(is_negative, np.nan, reciprocal_root(safe))
        case SpecialOperation.EXP2:
            value = exponential(safe)
        case SpecialOperation.LOG2:
            value = np.where(is_negative, np.nan, logarithm(safe))
        case _:
            value = circular(safe, operation == SpecialOperation.COS)
    for limit, at_limit in zip(limits, LIMITS[operation], strict=True):
        value = np.where(a == limit, at_limit, value)
    value = np.where(stored > FP32.infinity, np.nan, value)
    return floats.round_to(value, FP32)
