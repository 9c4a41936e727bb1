"""Check of a buffer: bit for bit against a golden model, and within a bound of float64."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...hw.config.formats import FORMATS, FloatFormat
from ..golden.arith.float.floats import decode, sign_extend
from ..report.result import FAIL, PASS

__all__ = ["Check", "check", "examples_of"]

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
    examples : list of dict
        The first wrong elements: ``index``, ``expected``, ``got``, ``bound``, ``expected_bits``,
        ``got_bits``.

    """

    elements: int
    wrong: int
    mismatches: int | None
    outside_bound: int | None
    guard_bytes_changed: int | None = None
    max_abs_error: float
    max_bound_share: float | None = None
    is_result: bool = True
    is_exact: bool = True
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


def check(result, golden, reference, bound, *, form: str, touched: int = 0) -> Check:
    """Compare `result` with `golden` bit by bit, and with `reference` within `bound`.

    Parameters
    ----------
    result, golden : ndarray
        Of one type and shape.
    reference, bound : ndarray
        Float64 values, and the largest correct distance from each; any distance if infinite.
        Where the reference is not finite the result must be the same infinity or NaN.
    form : str
        Format of the elements of `result` and `golden`.
    touched : int
        Changed bytes in the guard regions around the result.

    """
    if result.dtype != golden.dtype or result.shape != golden.shape:
        raise ValueError(
            f"result must be {golden.dtype} of shape {golden.shape}, not {result.dtype} of shape "
            f"{result.shape}"
        )
    result, golden = (elements.view(f"u{elements.itemsize}") for elements in (result, golden))
    differs = result != golden
    is_outside, largest = distance(result, reference, bound, form)
    return Check(
        elements=result.size,
        wrong=int(np.count_nonzero(differs | is_outside)),
        mismatches=int(np.count_nonzero(differs)),
        outside_bound=int(np.count_nonzero(is_outside)),
        guard_bytes_changed=touched,
        max_abs_error=largest,
        examples=examples_of(
            differs | is_outside,
            lambda at: values_of(golden[at], form),
            lambda at: values_of(result[at], form),
            np.broadcast_to(bound, result.shape),
            golden,
            result,
        ),
    )


def examples_of(
    wrong: np.ndarray,
    expected: Callable[[tuple], Any],
    got: Callable[[tuple], Any],
    bound: np.ndarray,
    expected_bits: np.ndarray | None,
    got_bits: np.ndarray,
) -> list[dict[str, Any]]:
    """Return the first wrong elements; values by index, bits as unsigned integers."""
    return [
        {
            "index": list(at),
            "expected": plain_number(expected(at)),
            "got": plain_number(got(at)),
            "bound": plain_number(bound[at]),
            "expected_bits": None if expected_bits is None else hexadecimal(expected_bits[at]),
            "got_bits": hexadecimal(got_bits[at]),
        }
        for at in map(tuple, np.argwhere(wrong)[:SHOWN].tolist())
    ]


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


def distance(bits, reference, bound, form: str) -> tuple[np.ndarray, float]:
    """Return which elements lie outside the bound, and the largest finite error."""
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
    return ~inside, float(np.max(error, initial=0.0, where=finite))


def overflow_of(form: FloatFormat) -> float:
    """Return the least magnitude that is rounded to infinity."""
    return (2.0 - 2.0**-form.significand_width) * 2.0**form.largest_exponent
