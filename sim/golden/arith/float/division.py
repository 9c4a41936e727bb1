"""Golden models of RISC-V's ``fdiv.s`` and ``fsqrt.s``: result bits and flags."""

import numpy as np

from .....hw.arith.float.rounding import FLAGS, Rounding
from .....hw.config.formats import FP32, FloatFormat
from .floats import decode, is_signalling, rounded

__all__ = ["divide", "square_root"]

#: Significant bits that are kept of a quotient or root before its remainder is computed. The kept
#: part times a divisor of up to 24 bits, or its square, is exact in float64.
PRECISION = 26
DROPPED = 53 - PRECISION


def divide(
    a,
    b,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    form: FloatFormat = FP32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``a / b`` rounded once, and its flags (both uint32).

    Operands are stored bits of an IEEE format with at most 24 significand bits. `rounding` is
    one mode, or an array with one per operand.
    """
    require_short(form)
    dividend, divisor = decode(a, form), decode(b, form)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = dividend / divisor
        is_number = np.isfinite(dividend) & np.isfinite(divisor) & (divisor != 0)
        cut = np.where(is_number, without_end(quotient), quotient)
        remainder = np.where(is_number, dividend - cut * divisor, 0.0)
    exact_sign = np.sign(remainder) * np.sign(divisor)
    bits, flags = rounded(moved(cut, exact_sign), form, rounding)

    is_nan = np.isnan(dividend) | np.isnan(divisor)
    is_invalid = np.isnan(quotient) & ~is_nan
    is_invalid |= is_signalling(a, form) | is_signalling(b, form)
    is_divided_by_zero = np.isfinite(dividend) & (dividend != 0) & (divisor == 0)
    return bits, with_exceptions(flags, is_invalid, is_divided_by_zero)


def square_root(
    a, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN, form: FloatFormat = FP32
) -> tuple[np.ndarray, np.ndarray]:
    """Return the square root of `a` rounded once, and the flags of it; see `divide`."""
    require_short(form)
    radicand = decode(a, form)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(radicand)
        is_number = np.isfinite(root)
        cut = np.where(is_number, without_end(root), root)
        remainder = np.where(is_number, radicand - cut * cut, 0.0)
    bits, flags = rounded(moved(cut, np.sign(remainder)), form, rounding)
    is_invalid = (radicand < 0) | is_signalling(a, form)
    return bits, with_exceptions(flags, is_invalid, np.zeros_like(is_invalid))


def require_short(form: FloatFormat) -> None:
    """Raise unless float64 can hold `PRECISION` bits times a significand."""
    if form.significand_width > PRECISION - 2:
        raise ValueError(
            f"form must have at most {PRECISION - 2} significand bits, not {form.significand_width}"
        )


def without_end(values: np.ndarray) -> np.ndarray:
    """Return float64 `values` truncated to `PRECISION` significant bits."""
    return (values.view(np.int64) >> DROPPED << DROPPED).view(np.float64)


def moved(cut: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return `cut` moved by one float64 step toward the exact value, if that differs.

    Between `cut` and its neighbours of `PRECISION` bits there is neither a number of a narrower
    format nor the middle of two such numbers. The result therefore rounds like the exact value.
    """
    beside = np.nextafter(cut, np.where(direction > 0, np.inf, -np.inf))
    return np.where(direction == 0, cut, beside)


def with_exceptions(flags: np.ndarray, is_invalid, is_divided_by_zero) -> np.ndarray:
    """Return the flags of rounding together with those of the operation."""
    flags = flags | np.where(is_invalid, np.uint32(FLAGS["invalid"]), np.uint32(0))
    return flags | np.where(is_divided_by_zero, np.uint32(FLAGS["divide_by_zero"]), np.uint32(0))
