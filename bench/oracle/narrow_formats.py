"""Narrow formats in gfloat.

Its rounding agrees with `sim.golden.arith.float` wherever it specifies one. Elsewhere
`encode_by_gfloat` returns a masked array, so that unspecified results never count as checked.
Masked are NaN into fp6 and fp4, negative values into e8m0 and ue4m3, and e8m0 of zero and of
values below its smallest number.

NaN results of either sign are returned as the format's canonical NaN: gfloat keeps the sign of an
e4m3 overflow, and has another canonical NaN for e5m2. gfloat refuses overflow in a format without
infinity and NaN; there it is called with saturation, the only possible result.
"""

from functools import cache

import numpy as np

from spica.hw.arith.float.rounding import FLAGS, Rounding
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP4_E2M1,
    FP6_E2M3,
    FP6_E3M2,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    TF32,
    UE4M3,
    FloatFormat,
)

from . import require

__all__ = [
    "GFLOAT_FORMATS",
    "decode_by_gfloat",
    "encode_by_gfloat",
    "narrow_by_gfloat",
    "widen_by_gfloat",
]

#: Formats by their names in gfloat; TF32 and UE4M3 are defined from their specifications.
GFLOAT_FORMATS = {
    FP32: "binary32",
    FP16: "binary16",
    BF16: "bfloat16",
    TF32: None,
    FP8_E5M2: "ocp_e5m2",
    FP8_E4M3: "ocp_e4m3",
    FP6_E3M2: "ocp_e3m2",
    FP6_E2M3: "ocp_e2m3",
    FP4_E2M1: "ocp_e2m1",
    E8M0: "ocp_e8m0",
    UE4M3: None,
}
ROUND_MODES = {
    Rounding.NEAREST_EVEN: "TiesToEven",
    Rounding.TOWARD_ZERO: "TowardZero",
    Rounding.DOWN: "TowardNegative",
    Rounding.UP: "TowardPositive",
    Rounding.NEAREST_AWAY: "TiesToAway",
}


@cache
def info_of(form: FloatFormat):
    """Return gfloat's description of a format."""
    gfloat = require("gfloat")
    if form not in GFLOAT_FORMATS:
        raise ValueError(f"gfloat has no {form.name}")
    if name := GFLOAT_FORMATS[form]:
        return getattr(require("gfloat.formats"), f"format_info_{name}")
    extended = form == TF32
    return gfloat.FormatInfo(
        form.name,
        k=19 if extended else 7,
        precision=11 if extended else 4,
        bias=127 if extended else 7,
        is_signed=extended,
        domain=gfloat.Domain.Extended if extended else gfloat.Domain.Finite,
        has_nz=extended,
        num_high_nans=(1 << 10) - 1 if extended else 1,
        has_subnormals=True,
        is_twos_complement=False,
    )


def decode_by_gfloat(bits, form: FloatFormat) -> np.ndarray:
    """Return the values of stored `bits` as float64."""
    with np.errstate(all="ignore"):
        return require("gfloat").decode_ndarray(info_of(form), np.asarray(bits).astype(np.int64))


def encode_by_gfloat(
    values,
    form: FloatFormat,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    *,
    saturate: bool = False,
) -> np.ma.MaskedArray:
    """Return float64 `values` rounded, as stored bits (uint32)."""
    gfloat, info = require("gfloat"), info_of(form)
    values, modes = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(rounding))
    unspecified = beyond(values, form)
    if not form.signed:
        unspecified |= np.signbit(values) & ~np.isnan(values)
    defined = np.where(unspecified, 1.0, values)
    clamp = saturate or not form.has_nan
    result = np.zeros(values.shape)
    # Arrays only: the scalar function adds 0.5 in floating point and so mistakes values just
    # below a tie for ties.
    for mode, name in ROUND_MODES.items():
        chosen = modes == mode
        round_mode = getattr(gfloat.RoundMode, name)
        with np.errstate(all="ignore"):
            result[chosen] = gfloat.round_ndarray(info, defined[chosen], round_mode, clamp)
    with np.errstate(all="ignore"):
        stored = gfloat.encode_ndarray(info, result).astype(np.uint32)
    return finish(stored, np.isnan(result), unspecified, form)


@cache
def unbounded(form: FloatFormat):
    """Return gfloat's description of a format with this precision and all exponents of FP32."""
    gfloat = require("gfloat")
    return gfloat.FormatInfo(
        f"{form.name} without bounds",
        k=form.significand_width + 11,
        precision=form.significand_width,
        bias=1023,
        is_signed=True,
        domain=gfloat.Domain.Extended,
        has_nz=True,
        num_high_nans=(1 << form.fraction_width) - 1,
        has_subnormals=True,
        is_twos_complement=False,
    )


def narrow_by_gfloat(
    i, form: FloatFormat, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return FP32 rounded to `form`, and flags, as stored bits (uint32).

    Overflow and tininess after rounding follow from the value rounded without bounds of the
    exponent, the definition of IEEE 754.
    """
    gfloat = require("gfloat")
    i, modes = np.broadcast_arrays(np.asarray(i, np.uint32), np.asarray(rounding))
    values = decode_by_gfloat(i, FP32)
    stored = np.ma.getdata(encode_by_gfloat(values, form, modes))
    finite = np.isfinite(values)
    free = np.zeros(values.shape)
    for mode, name in ROUND_MODES.items():
        chosen = (modes == mode) & finite
        round_mode = getattr(gfloat.RoundMode, name)
        free[chosen] = gfloat.round_ndarray(unbounded(form), values[chosen], round_mode)
    largest, least = decode_by_gfloat([form.largest, 1 << form.fraction_width], form)
    overflow = np.abs(free) > largest
    inexact = finite & (decode_by_gfloat(stored, form) != values)
    flags = FLAGS["overflow"] * overflow + FLAGS["inexact"] * inexact
    flags += FLAGS["underflow"] * (inexact & (np.abs(free) < least))
    return stored, (flags + FLAGS["invalid"] * signals(i, FP32)).astype(np.uint32)


def widen_by_gfloat(i, form: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """Return stored values of `form` in FP32, and flags, as stored bits (uint32)."""
    stored = encode_by_gfloat(decode_by_gfloat(i, form), FP32)
    flags = FLAGS["invalid"] * signals(np.asarray(i), form)
    return np.ma.getdata(stored), flags.astype(np.uint32)


def signals(i: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return which stored values are NaN with the first fraction bit clear."""
    return np.isnan(decode_by_gfloat(i, form)) & (i >> (form.fraction_width - 1) & 1 == 0)


def beyond(values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return which values gfloat does not define in `form`."""
    if not form.has_nan:
        return np.isnan(values)
    if not form.subnormals:
        return (values > -(2.0**-127)) & (values < 2.0**-127)
    return np.zeros(values.shape, bool)


def finish(stored, nan, unspecified, form: FloatFormat) -> np.ma.MaskedArray:
    """Return the result with a single NaN code, masked where unspecified."""
    if form.has_nan:
        stored = np.where(nan, np.uint32(form.nan), stored)
    return np.ma.masked_array(stored, unspecified)
