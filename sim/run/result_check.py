"""Check of a buffer: bit for bit against a golden model, and within a bound of float64."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...hw.config.formats import FORMATS, FloatFormat
from ..golden.arith.float.floats import decode, sign_extend
from ..report.result import FAIL, PASS

__all__ = ["Check", "check", "compare"]

#: Wrong elements shown in full.
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Check:
    """Result of comparing one buffer with its expected contents.

    Parameters
    ----------
    elements : int
        Elements compared.
    wrong : int
        Elements with a mismatch, outside their bound, or changed although they are only read.
    mismatches : int or None
        Elements whose bits differ from the golden model's, or, in a buffer that is only read, from
        the initial ones; None if bits are not compared.
    outside_bound : int or None
        Elements farther from the float64 reference than their bound; None without a reference.
    left_range : int
        Elements that are infinite or NaN although their float64 value, rounded to the format, is
        finite: an intermediate result left the range of its format. They are outside their bound
        unless operands provoke it and their bits are as expected.
    rounded_to_infinity : int
        Elements that are infinite as their finite float64 value is beyond the range of the format.
    guard_bytes_changed : int or None
        Changed bytes in the guard regions around the buffer; None without guard regions.
    max_abs_error : float
        Largest distance from the reference among finite elements.
    max_bound_share : float or None
        Largest distance divided by its bound, 0 if every bound is 0; None if it is not computed.
    is_result : bool
        Whether the kernel writes the buffer.
    is_exact : bool
        Whether the bits of every element are compared.
    permits_overflow : bool
        Whether elements that left the range are correct if their bits are as expected.
    examples : list of dict
        The first wrong elements: ``index``, ``expected``, ``got``, ``bound``, ``expected_bits``,
        ``got_bits``.

    """

    elements: int
    wrong: int
    mismatches: int | None
    outside_bound: int | None
    left_range: int = 0
    rounded_to_infinity: int = 0
    guard_bytes_changed: int | None = None
    max_abs_error: float
    max_bound_share: float | None = None
    is_result: bool = True
    is_exact: bool = True
    permits_overflow: bool = False
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every element and every guard byte is correct."""
        return not (self.wrong or self.guard_bytes_changed)

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return PASS if self.passed else FAIL

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of a result file."""
        return asdict(self)


def check(
    result,
    golden,
    reference,
    bound,
    *,
    form: str,
    touched: int = 0,
    permits_overflow: bool = False,
) -> Check:
    """Compare `result` with `golden` bit by bit, and with `reference` within `bound`.

    Parameters
    ----------
    result, golden : ndarray
        Of one type and shape.
    reference, bound : ndarray
        Float64 values, and the largest correct distance from each.
    form : str
        Format of the elements of `result` and `golden`.
    touched : int
        Changed bytes in the guard regions around the result.
    permits_overflow : bool
        Whether elements that have left the range are correct if their bits are as in `golden`.

    """
    if result.dtype != golden.dtype or result.shape != golden.shape:
        raise ValueError(
            f"result must be {golden.dtype} of shape {golden.shape}, not {result.dtype} of shape "
            f"{result.shape}"
        )
    result, golden = (elements.view(f"u{elements.itemsize}") for elements in (result, golden))
    kind = FORMATS[form]
    return compare(
        values_of(result, form),
        values_of(golden, form),
        result,
        golden,
        reference=reference,
        bound=bound,
        overflow=overflow_of(kind) if isinstance(kind, FloatFormat) else np.inf,
        permits_overflow=permits_overflow,
        guard_bytes_changed=touched,
    )


def compare(
    got: np.ndarray,
    expected: np.ndarray,
    got_bits: np.ndarray,
    expected_bits: np.ndarray | None,
    *,
    reference: np.ndarray,
    bound: np.ndarray | float,
    overflow: float,
    is_result: bool = True,
    permits_overflow: bool = False,
    guard_bytes_changed: int | None = None,
    has_share: bool = False,
) -> Check:
    """Return the check of elements by their bits, and of results also by their distances.

    `Classes` has the rules for distances.

    Parameters
    ----------
    got, expected : ndarray
        Values, for examples.
    got_bits, expected_bits : ndarray
        Their bits as unsigned integers; None for expected bits that are not compared.
    reference, bound : ndarray or float
        Reference, and the largest correct distance from it.
    overflow : float
        Least magnitude that is rounded to infinity.
    is_result : bool
        Whether distances count; otherwise only bits do.
    permits_overflow : bool
        Whether elements that have left the range are correct if their bits are as expected.
    guard_bytes_changed : int or None
        Changed bytes in the guard regions.
    has_share : bool
        Whether the check has `max_bound_share`.

    """
    bound = np.broadcast_to(np.asarray(bound, dtype=np.float64), got.shape)
    none = np.zeros(got.shape, dtype=bool)
    differs = none if expected_bits is None else got_bits != expected_bits
    classes = classes_of(got, reference, bound, overflow)
    has_left, inside = classes.has_left & ~differs, classes.inside
    if expected_bits is None:
        has_left &= np.isinf(got)  # a NaN may also be an element that was never written
    else:
        inside = inside | (np.isinf(bound) & ~classes.has_left)
        if permits_overflow:
            inside |= has_left
    outside = ~inside if is_result else none
    wrong = differs | outside
    return Check(
        elements=got.size,
        wrong=int(np.count_nonzero(wrong)),
        mismatches=None if expected_bits is None else int(np.count_nonzero(differs)),
        outside_bound=int(np.count_nonzero(outside)) if is_result else None,
        left_range=int(np.count_nonzero(has_left)) if is_result else 0,
        rounded_to_infinity=int(np.count_nonzero(classes.rounds)) if is_result else 0,
        guard_bytes_changed=guard_bytes_changed,
        max_abs_error=float(np.max(classes.error, initial=0.0)),
        max_bound_share=float(np.max(classes.share, initial=0.0)) if has_share else None,
        is_result=is_result,
        is_exact=expected_bits is not None,
        permits_overflow=permits_overflow,
        examples=[
            {
                "index": list(at),
                "expected": plain_number(expected[at]),
                "got": plain_number(got[at]),
                "bound": plain_number(bound[at]),
                "expected_bits": None if expected_bits is None else hexadecimal(expected_bits[at]),
                "got_bits": hexadecimal(got_bits[at]),
            }
            for at in map(tuple, np.argwhere(wrong)[:SHOWN].tolist())
        ],
    )


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Elements by their distance from a float64 reference.

    A float may overflow to an infinity where the reference, within its bound, does; a bound above
    the reference itself decides nothing. Any other infinity or NaN of a finite reference has left
    the range of the format. Where the reference is not finite, the result must be the same
    infinity, or a NaN if the reference is one.

    Parameters
    ----------
    inside : ndarray
        Whether an element is within its bound; false if the bound is a NaN.
    rounds : ndarray
        Whether it is infinite as its finite reference is beyond the range of the format.
    has_left : ndarray
        Whether it is infinite or NaN although its reference is finite and within the range.
    error, share : ndarray
        Distance, 0 unless both are finite, and its share of the bound.

    """

    inside: np.ndarray
    rounds: np.ndarray
    has_left: np.ndarray
    error: np.ndarray
    share: np.ndarray


def classes_of(
    got: np.ndarray, reference: np.ndarray, bound: np.ndarray, overflow: float
) -> Classes:
    """Return the classes of elements; parameters are those of `compare`."""
    with np.errstate(all="ignore"):
        value, expected = got.astype(np.float64), reference.astype(np.float64)
        is_finite, has_reference = np.isfinite(value), np.isfinite(expected)
        same = (value == expected) | (np.isnan(value) & np.isnan(expected))
        reach = np.abs(expected) + np.where(bound <= np.abs(expected), bound, 0.0)
        rounds = has_reference & (reach >= overflow) & np.isinf(value)
        rounds &= np.signbit(value) == np.signbit(expected)
        error = np.abs(value - expected)
        # A bound that is a NaN compares false.
        inside = same | rounds | (is_finite & has_reference & (error <= bound))
        error[~(is_finite & has_reference)] = 0.0
        share = np.where(bound > 0, error / bound, 0.0)
    return Classes(
        inside=inside,
        rounds=rounds,
        has_left=has_reference & ~is_finite & ~rounds,
        error=error,
        share=share,
    )


def plain_number(value) -> int | float | str:
    """Return a number for JSON; infinities and NaN as text."""
    number = value.item()
    return number if isinstance(number, int) or np.isfinite(number) else str(number)


def hexadecimal(bits) -> str:
    """Return an unsigned element as text, all digits of its width."""
    return f"0x{int(bits):0{2 * bits.itemsize}x}"


def values_of(bits, form: str) -> np.ndarray:
    """Return the values of stored `bits` as float64."""
    kind = FORMATS[form]
    if isinstance(kind, FloatFormat):
        return decode(bits, kind)
    return sign_extend(bits, kind.width).astype(np.float64)


def overflow_of(form: FloatFormat) -> float:
    """Return the least magnitude that is rounded to infinity."""
    return (2.0 - 2.0**-form.significand_width) * 2.0**form.largest_exponent
