"""Stimulus for division and square root, including the hardest cases to round."""

import numpy as np

from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import FP32, FloatFormat
from spica.sim.golden.arith.float.floats import encode

from .floats import half_of, random_bits

__all__ = ["INTEGER_CORNERS", "divide_operands", "integer_operands", "square_root_operands"]

#: Integers at which results of a division change their kind.
INTEGER_CORNERS = [
    *(0, 1, 2, 3, 0x7FFF_FFFF, 0x8000_0000),
    *(0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF),
]


def divide_operands(
    rng: np.random.Generator, count: int, form: FloatFormat = FP32
) -> dict[str, np.ndarray]:
    """Return operands of a division: random ones, and dividends computed from chosen quotients.

    Those quotients are exact, midpoints of two numbers, or as close to either as possible. They
    have all exponents, or those at which quotients become subnormal, vanish or overflow.
    """
    kind = rng.integers(0, 4, count)
    is_short = half_of(rng, np.ones(count, bool), np.zeros(count, bool))
    close, exact = close_quotients(rng, form, count), exact_quotients(rng, form, count)
    dividend, divisor = (np.where(is_short, *pair) for pair in zip(exact, close, strict=True))
    # True exponents of quotients at which classes change.
    least = form.least_exponent
    edge = rng.choice([least - 1, least, 1 - form.bias, form.bias], count)
    edge += rng.integers(-2, 3, count)
    exponent = np.where(kind == 1, edge, rng.integers(-form.bias, form.bias, count))
    exponent -= np.frexp(dividend)[1] - np.frexp(divisor)[1]
    half = exponent // 2
    a = encode(np.ldexp(dividend.astype(np.float64), exponent - half), form)
    b = encode(np.ldexp(divisor.astype(np.float64), -half), form)
    sign = rng.integers(0, 2, count).astype(np.uint32) << np.uint32(form.magnitude_width)
    return {
        "rounding": rng.integers(0, len(Rounding), count).astype(np.uint32),
        "a": np.where(kind == 0, random_bits(rng, form, count), a ^ sign),
        "b": np.where(kind == 0, random_bits(rng, form, count), b),
    }


def square_root_operands(
    rng: np.random.Generator, count: int, form: FloatFormat = FP32
) -> dict[str, np.ndarray]:
    """Return operands of a square root: random ones, and radicands computed from chosen roots.

    Those roots are exact, or as close as possible to a number or to the midpoint of two.
    """
    kind = rng.integers(0, 4, count)
    root = odd(rng, form.significand_width // 2, count)
    radicand, scale = close_roots(rng, form, count)
    radicand, scale = np.where(kind == 1, root**2, radicand), np.where(kind == 1, 0, scale)
    value = np.ldexp(radicand.astype(np.float64), scale)
    exponent = rng.integers(form.least_exponent, form.bias + 1, count) - np.frexp(value)[1]
    # An even power of two leaves the root's digits unchanged.
    value = np.ldexp(value, exponent // 2 * 2)
    a = random_bits(rng, form, count)
    a = half_of(rng, a, a & np.uint32(form.magnitude_mask))
    return {
        "rounding": rng.integers(0, len(Rounding), count).astype(np.uint32),
        "a": np.where(kind == 0, a, encode(value, form)),
    }


def integer_operands(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dividends and divisors of every length and both signs, and corner cases."""
    values = rng.integers(0, 1 << 32, (2, count)) >> rng.integers(0, 32, (2, count))
    negative = -values & 0xFFFF_FFFF
    corner = rng.choice(INTEGER_CORNERS, (2, count))
    a, b = np.choose(rng.integers(0, 3, (2, count)), [values, negative, corner])
    return a.astype(np.uint32), b.astype(np.uint32)


def odd(rng: np.random.Generator, width: int, count: int) -> np.ndarray:
    """Return odd numbers of up to `width` bits."""
    return (rng.integers(0, 1 << width, count) >> rng.integers(0, width, count)) | 1


def exact_quotients(
    rng: np.random.Generator, form: FloatFormat, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return dividends and divisors with a quotient of half as many bits as a number."""
    half = form.significand_width // 2
    divisor = odd(rng, form.significand_width - half, count)
    return odd(rng, half, count) * divisor, divisor


def close_quotients(
    rng: np.random.Generator, form: FloatFormat, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return dividends and divisors with a quotient close to one with one bit more than a number.

    With ``quotient * divisor = dividend * 2**width + rest`` the quotient is off by at most a
    small rest over the divisor. An odd rest makes the quotient odd: a midpoint of two numbers.
    """
    width = form.significand_width + 1
    divisor = rng.integers(1 << form.fraction_width, 2 << form.fraction_width, count) | 1
    rest = small(rng, count)
    quotient = (rest * inverse(divisor)) & ((1 << width) - 1)
    return (quotient * divisor - rest) >> width, divisor


def close_roots(
    rng: np.random.Generator, form: FloatFormat, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return radicands and their scales, with roots close to the midpoint of two numbers.

    They satisfy ``root**2 = radicand * 2**width + rest`` with a root one bit longer than a number.
    """
    width = form.significand_width + 2
    # Numbers congruent to 1 modulo 8 have a square root modulo a power of two.
    rest = 8 * rng.integers(-8, 9, count) + 1
    inverse_root = np.ones(count, np.int64)
    for _ in range(6):
        inverse_root = inverse_root * (3 - rest * inverse_root * inverse_root) >> 1
    root = rest * inverse_root + (rng.integers(0, 2, count) << (width - 1))
    root = np.where(rng.random(count) < 0.5, root, -root) & ((1 << width) - 1)
    # The other root, which has the right length if this one does not.
    longest = 1 << (width - 1)
    root = np.where(root >= longest, (1 << width) - root, root)
    return (root**2 - rest) >> width, np.full(count, width)


def small(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return small nonzero numbers of both signs."""
    return rng.integers(1, 5, count) * rng.choice([-1, 1], count)


def inverse(values: np.ndarray) -> np.ndarray:
    """Return the inverses of odd numbers modulo 2**64, by Newton's iteration."""
    result = values
    for _ in range(5):
        result = result * (2 - values * result)
    return result
