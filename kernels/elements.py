"""Matrix elements in NumPy: storage type and values of each format.

Formats that NumPy lacks are stored as bits, in unsigned integers of the format's width.
"""

from functools import cache

import numpy as np

from ..hw.config.formats import FORMATS, FP32, FloatFormat, IntFormat

__all__ = ["dtype_of", "nearest", "values_of"]

NATIVE = {"fp16": np.float16, "fp32": np.float32, "int8": np.int8, "int32": np.int32}


def dtype_of(form: str) -> np.dtype:
    """Return the NumPy type of an array with elements of format `form`."""
    width = FORMATS[form].width
    if form not in NATIVE and width not in (8, 16):
        raise ValueError(f"elements must have 8 or 16 bits, or a type in NumPy, not {form!r}")
    return np.dtype(NATIVE.get(form, f"u{width // 8}"))


def values_of(elements: np.ndarray, form: str) -> np.ndarray:
    """Return the values of an array of format `form` as float64, exactly."""
    if form in NATIVE:
        with np.errstate(invalid="ignore"):  # raised by a signalling NaN
            return elements.astype(np.float64)
    return every_value(form)[elements]


def nearest(values: np.ndarray, form: str) -> np.ndarray:
    """Return the elements of format `form` nearest to `values`, saturated, with ties to even."""
    target = FORMATS[form]
    if isinstance(target, IntFormat):
        half = 1 << (target.width - 1)
        return np.clip(np.rint(values), -half, half - 1).astype(dtype_of(form))
    if target == FP32:
        largest = np.finfo(np.float32).max
        return np.clip(values, -largest, largest).astype(np.float32)
    # Stored magnitudes have the order of their values, so a code equals its index in that order.
    magnitudes = every_value(form)[: target.largest + 1]
    sizes = np.abs(values)
    above = np.clip(np.searchsorted(magnitudes, sizes), 1, target.largest)
    below_distance = sizes - magnitudes[above - 1]
    above_distance = magnitudes[above] - sizes
    is_below = (below_distance < above_distance) | (
        (below_distance == above_distance) & (above % 2 == 1)
    )
    codes = (above - is_below) | np.signbit(values).astype(np.int64) << target.magnitude_width
    return codes.astype(f"u{target.width // 8}").view(dtype_of(form))


@cache
def every_value(form: str) -> np.ndarray:
    """Return the value of each code of a float format of at most 16 bits, by code."""
    target = FORMATS[form]
    assert isinstance(target, FloatFormat)
    codes = np.arange(1 << target.width)
    exponents = codes >> target.fraction_width & target.exponent_mask
    fractions = (codes & target.fraction_mask) / 2.0**target.fraction_width
    scales = 2.0 ** (np.maximum(exponents, 1) - target.bias)
    values = (fractions + (exponents > 0)) * scales
    magnitudes = codes & target.magnitude_mask
    values[magnitudes > target.largest] = np.nan
    if target.has_infinity:
        values[magnitudes == target.infinity] = np.inf
    return np.where(codes > target.magnitude_mask, -values, values)
