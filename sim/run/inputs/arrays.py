"""Conversion of arrays to elements of a format: values are rounded, and never changed further."""

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ....base.errors import UserError
from ....hw.config.formats import FORMATS, FloatFormat
from ....kernels.elements import NATIVE, nearest, values_of

__all__ = [
    "SHOWN",
    "ArrayError",
    "FormatRange",
    "as_elements",
    "as_numbers",
    "float_form",
    "integer",
    "is_number_type",
    "range_of",
    "require_held",
    "type_of",
]

#: Types of `ml_dtypes` with the formats of the machine.
EXTENSIONS = {
    "bf16": ml_dtypes.bfloat16,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
}
#: Values that a message shows.
SHOWN = 3


class ArrayError(UserError, ValueError):
    """An array, or a number, that an argument cannot take."""


@dataclass(frozen=True, kw_only=True)
class FormatRange:
    """Values that a format holds after rounding to nearest.

    Parameters
    ----------
    name : str
        Name of the format in messages.
    low, high : int or float
        Least and largest finite number.
    edge : float
        Least magnitude that is no longer rounded to a finite number, unless `is_edge_held`.
    is_edge_held : bool
        Whether the edge itself, a tie, is rounded to the largest number.
    has_infinity, has_nan : bool
        Whether the format has infinities and NaN.

    """

    name: str
    low: float
    high: float
    edge: float = 0.0
    is_edge_held: bool = False
    has_infinity: bool = False
    has_nan: bool = False

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return which values are finite after rounding, or infinities or NaN that exist."""
        if not self.has_nan:
            whole = values if values.dtype.kind in "iub" else np.rint(values.astype(np.float64))
            return (whole >= self.low) & (whole <= self.high)
        wide = values.astype(np.float64)
        size = np.abs(wide)
        held = (size < self.edge) | ((size == self.edge) & self.is_edge_held)
        return held | (np.isinf(wide) & self.has_infinity) | np.isnan(wide)

    def __str__(self) -> str:
        if self.has_nan:
            infinities = "" if self.has_infinity else ", without infinities"
            return f"{self.name}, whose largest number is {self.high:.8g}{infinities}"
        return f"{self.name}, {self.low} to {self.high}"


def range_of(form: str) -> FormatRange:
    """Return the range of a format of the machine."""
    target = FORMATS[form]
    if not isinstance(target, FloatFormat):
        half = 1 << (target.width - 1)
        return FormatRange(name=form, low=-half, high=half - 1)
    code = np.array(target.largest, f"u{target.width // 8}")
    native = np.dtype(NATIVE[form]) if form in NATIVE else code.dtype
    largest = float(values_of(code[None].view(native), form)[0])
    step = 2.0 ** (math.frexp(largest)[1] - target.significand_width)
    return FormatRange(
        name=form,
        low=-largest,
        high=largest,
        edge=largest + step / 2,
        is_edge_held=target.largest % 2 == 0,
        has_infinity=target.has_infinity,
        has_nan=True,
    )


def float_form(dtype: np.dtype) -> str | None:
    """Return the format of a type of floats; None if the machine has none of it."""
    types = {form: np.dtype(native) for form, native in (NATIVE | EXTENSIONS).items()}
    return next((form for form, known in types.items() if known == dtype and is_float(form)), None)


def is_float(form: str) -> bool:
    """Return whether a format is one of floats."""
    return isinstance(FORMATS[form], FloatFormat)


def type_of(form: str) -> np.dtype:
    """Return the type of a format in NumPy or `ml_dtypes`."""
    return np.dtype((NATIVE | EXTENSIONS)[form])


def integer(name: str, value: Any) -> int:
    """Return an integer of Python or NumPy; raise `ArrayError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArrayError(f"{name} must be an integer, not {value!r}")
    return int(value)


def is_number_type(dtype: np.dtype) -> bool:
    """Return whether a type is one of real numbers, of NumPy or `ml_dtypes`."""
    is_extension = dtype.kind == "V" and dtype.isbuiltin == 2
    return dtype.kind in "fiub" or is_extension


def as_numbers(name: str, array: Any) -> np.ndarray:
    """Return an array of real numbers in native byte order, or raise `ArrayError`."""
    try:
        is_masked = np.ma.is_masked(array)
        numbers = np.asarray(array)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArrayError(f"{name} must be an array of numbers: {error}") from None
    if is_masked:
        raise ArrayError(
            f"{name} must not have masked elements: replace them, for example by .filled(0)"
        )
    if not is_number_type(numbers.dtype):
        raise ArrayError(f"{name} must be an array of numbers, not {numbers.dtype}")
    return numbers if numbers.dtype.isnative else numbers.astype(numbers.dtype.newbyteorder("="))


def require_held(values: np.ndarray, limits: FormatRange, name: str) -> None:
    """Raise `ArrayError` if a format does not hold all values after rounding."""
    lost = ~limits.holds(values)
    if not lost.any():
        return
    places = np.argwhere(lost)[:SHOWN].tolist()
    shown = ", ".join(f"{values[tuple(at)]} at {at}" for at in places)
    more = ", …" if np.count_nonzero(lost) > len(places) else ""
    raise ArrayError(
        f"{np.count_nonzero(lost):,} of {values.size:,} values of {name} are outside {limits}: "
        f"{shown}{more}; scale or replace them first"
    )


def as_elements(array: np.ndarray, form: str, name: str = "the array") -> np.ndarray:
    """Return an array in a format, rounded to nearest, as `kernels.elements` holds it.

    Infinities and NaN are kept. `ArrayError` names values that the format does not hold.
    """
    require_held(array, range_of(form), name)
    target = FORMATS[form]
    if form in NATIVE and isinstance(target, FloatFormat):
        return array.astype(NATIVE[form])
    values = array.astype(np.float64)
    if not isinstance(target, FloatFormat):
        return nearest(values, form)
    elements = nearest(np.nan_to_num(values, nan=0.0), form)
    sign = np.signbit(values).astype(elements.dtype) << target.magnitude_width
    elements = np.where(np.isnan(values), elements.dtype.type(target.nan), elements)
    if target.has_infinity:
        elements = np.where(np.isinf(values), target.infinity | sign, elements)
    return elements.astype(f"u{target.width // 8}")
