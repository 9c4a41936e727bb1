"""Verdict on a result: bit for bit against the golden model, and within a bound of float64."""

from dataclasses import dataclass, field

import numpy as np

from ...hw.config.formats import FORMATS, FloatFormat
from ..golden.arith.float.floats import decode, sign_extend

__all__ = ["Check", "check"]

#: Mismatches shown in full.
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a comparison found.

    Parameters
    ----------
    mismatches : int
        Elements whose bits differ from the golden model's.
    outside_bound : int
        Elements farther from the float64 reference than its bound.
    touched : int
        Bytes around the result that were changed.
    max_abs_error : float
        Largest distance from the reference among finite elements.
    elements : int
        Elements compared.
    examples : list of str
        The first mismatches in words.

    """

    mismatches: int
    outside_bound: int
    touched: int
    max_abs_error: float
    elements: int
    examples: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.mismatches or self.outside_bound or self.touched)

    @property
    def verdict(self) -> str:
        """``right`` or ``wrong``."""
        return "pass" if self.passed else "fail"

    def as_dict(self) -> dict:
        """Return the check as it stands in a result file."""
        return {
            "verdict": self.verdict,
            "mismatches": self.mismatches,
            "max_abs_error": self.max_abs_error,
            "outside_bound": self.outside_bound,
            "bytes_touched_around_c": self.touched,
            "elements": self.elements,
            "examples": self.examples,
        }


def check(result, golden, reference, bound, *, form: str, touched: int = 0) -> Check:
    """Compare `result` with `golden` bit by bit, and with `reference` within `bound`.

    Parameters
    ----------
    result, golden : ndarray
        Of one type and shape.
    reference, bound : ndarray
        Float64 values, and how far a right result may lie from each; anywhere if that is infinite.
        Where the reference is not finite the result must be the same infinity or NaN.
    form : str
        Format of the elements of `result` and `golden`.
    touched : int
        Bytes outside the result that were changed.

    """
    if result.dtype != golden.dtype or result.shape != golden.shape:
        raise ValueError(
            f"result must be {golden.dtype} of shape {golden.shape}, not {result.dtype} of shape "
            f"{result.shape}"
        )
    result, golden = (elements.view(f"u{elements.itemsize}") for elements in (result, golden))
    wrong = np.argwhere(result != golden)
    examples = [
        f"({', '.join(map(str, at))}): expected {describe(golden[at], form)}, "
        f"got {describe(result[at], form)}"
        for at in map(tuple, wrong[:SHOWN].tolist())
    ]
    outside, largest = distance(result, reference, bound, form)
    return Check(
        mismatches=len(wrong),
        outside_bound=outside,
        touched=touched,
        max_abs_error=largest,
        elements=result.size,
        examples=examples,
    )


def values_of(bits, form: str) -> np.ndarray:
    """Return the values of stored `bits` as float64."""
    kind = FORMATS[form]
    if isinstance(kind, FloatFormat):
        return decode(bits, kind)
    return sign_extend(bits, kind.width).astype(np.float64)


def describe(bits, form: str) -> str:
    """Return one element as its value and its bits."""
    return f"{values_of(bits, form):.9g} (0x{int(bits):0{2 * bits.itemsize}x})"


def distance(bits, reference, bound, form: str) -> tuple[int, float]:
    """Return how many elements lie outside the bound, and the largest finite error."""
    kind = FORMATS[form]
    with np.errstate(all="ignore"):
        value = values_of(bits, form)
        error = np.abs(value - reference)
        same = (value == reference) | (np.isnan(value) & np.isnan(reference))
        # A float overflows where the true result, within its bound, may.
        overflow = np.zeros(value.shape, dtype=bool)
        if isinstance(kind, FloatFormat):
            overflow = (np.abs(reference) + bound >= overflow_of(kind)) & np.isinf(value)
            overflow &= np.signbit(value) == np.signbit(reference)
        # NaN compares false: a NaN where the reference is finite is outside.
        inside = same | overflow | (np.isfinite(reference) & (error <= bound)) | np.isinf(bound)
        finite = np.isfinite(value) & np.isfinite(reference)
    return int(np.count_nonzero(~inside)), float(np.max(error, initial=0.0, where=finite))


def overflow_of(form: FloatFormat) -> float:
    """Return the least magnitude that is rounded to infinity."""
    return (2.0 - 2.0**-form.significand_width) * 2.0**form.largest_exponent
