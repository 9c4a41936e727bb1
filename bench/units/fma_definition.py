"""Fused multiply-add by its definition, in Python's integers: an oracle for any format."""

import numpy as np

from spica.hw.arith.float.fma import FmaOperation
from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import FloatFormat

__all__ = ["fma_by_definition"]


def fma_by_definition(
    a, b, c, operation, rounding, form: FloatFormat
) -> tuple[np.ndarray, np.ndarray]:
    """Return stored results and flags, one vector at a time."""
    arrays = (np.asarray(x).tolist() for x in (a, b, c, operation, rounding))
    results = [one_fma(*vector, form=form) for vector in zip(*arrays, strict=True)]
    stored, flags = zip(*results, strict=True)
    return np.array(stored, np.uint32), np.array(flags, np.uint32)


def one_fma(a: int, b: int, c: int, operation: int, mode: int, *, form: FloatFormat):
    """Return the stored result and the flags of one operation."""
    sign_bit = 1 << form.magnitude_width
    one = form.bias << form.fraction_width
    if operation in (FmaOperation.FADD, FmaOperation.FSUB):
        a, b, c = a, one, b
    if operation in (FmaOperation.FNMSUB, FmaOperation.FNMADD):
        a ^= sign_bit
    if operation in (FmaOperation.FMSUB, FmaOperation.FNMADD, FmaOperation.FSUB):
        c ^= sign_bit
    if operation == FmaOperation.FMUL:
        c = (a ^ b) & sign_bit
    product_sign, c_sign = (a ^ b) & sign_bit, c & sign_bit
    if max(x & form.magnitude_mask for x in (a, b, c)) >= form.infinity:
        return special_fma(a, b, c, product_sign, c_sign, form)

    # In units of the square of the smallest number.
    total = units(a, form) * units(b, form) + (units(c, form) << -form.least_exponent)
    if total == 0:
        same = product_sign == c_sign
        return (product_sign if same else sign_bit * (mode == Rounding.DOWN)), 0
    stored, flags = rounded(abs(total), total < 0, mode, form)
    return stored | sign_bit * (total < 0), flags


def special_fma(a: int, b: int, c: int, product_sign: int, c_sign: int, form: FloatFormat):
    """Return the result and the flags if an operand is infinite or a NaN."""
    operands = (a, b, c)
    magnitudes = [x & form.magnitude_mask for x in operands]
    infinite = [x == form.infinity for x in magnitudes]
    some_nan = any(x > form.infinity for x in magnitudes)
    signalling = any(form.infinity < x < form.nan for x in magnitudes)
    infinite_zero = any(infinite[k] and magnitudes[1 - k] == 0 for k in (0, 1))
    opposite = any(infinite[:2]) and infinite[2] and product_sign != c_sign
    if signalling or infinite_zero or (opposite and not some_nan):
        return form.nan, FLAGS["invalid"]
    if some_nan:
        return form.nan, 0
    return form.infinity | (product_sign if any(infinite[:2]) else c_sign), 0


def units(stored: int, form: FloatFormat) -> int:
    """Return a stored number as a multiple of the smallest one."""
    fraction = stored & form.fraction_mask
    exponent = stored >> form.fraction_width & form.exponent_mask
    magnitude = fraction if exponent == 0 else (fraction | form.fraction_mask + 1) << exponent - 1
    return -magnitude if stored >> form.magnitude_width else magnitude


def rounded(magnitude: int, negative: bool, mode: int, form: FloatFormat) -> tuple[int, int]:
    """Return a magnitude rounded, and its flags; in units of the square of the smallest number."""
    least = -form.least_exponent
    free = magnitude.bit_length() - form.significand_width
    quantum = max(free, least)
    whole, inexact = rounded_to(magnitude, quantum, negative, mode)
    stored = whole + (quantum - least << form.fraction_width)
    flags = FLAGS["inexact"] if inexact else 0
    if stored > form.largest:
        to_largest = mode == Rounding.TOWARD_ZERO or mode == (
            Rounding.UP if negative else Rounding.DOWN
        )
        stored = form.largest if to_largest else form.infinity
        flags = FLAGS["inexact"] | FLAGS["overflow"]
    if inexact and free < least:
        # Tiny: below the smallest normal number even if rounded to a normal number's precision.
        unbounded, _ = rounded_to(magnitude, free, negative, mode)
        if unbounded << max(free, 0) < 1 << least + form.fraction_width:
            flags |= FLAGS["underflow"]
    return stored, flags


def rounded_to(magnitude: int, quantum: int, negative: bool, mode: int) -> tuple[int, bool]:
    """Return a magnitude as a multiple of ``2**quantum``, and whether that is inexact."""
    if quantum <= 0:
        return magnitude, False
    whole, rest = divmod(magnitude, 1 << quantum)
    half = 1 << quantum - 1
    if mode == Rounding.NEAREST_EVEN:
        up = rest > half or (rest == half and whole & 1)
    elif mode == Rounding.NEAREST_AWAY:
        up = rest >= half
    else:
        up = rest and mode == (Rounding.DOWN if negative else Rounding.UP)
    return whole + bool(up), rest > 0
