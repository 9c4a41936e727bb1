"""Errors of the special functions: sweeps over all fractions of some exponents.

NumPy's float64 functions are the reference; their own error is below a millionth of the measured
ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .....hw.config.formats import FP32
from .....hw.isa.operations import SpecialOperation
from ..float import floats
from .special_function import special_function

__all__ = ["SWEEPS", "Errors", "Sweep", "exact", "measured", "units_in_last_place"]

CHUNK = 1 << 18
NEGATIVE = 1 << 31

EXACT = {
    SpecialOperation.RCP: lambda x: 1 / x,
    SpecialOperation.RSQRT: lambda x: 1 / np.sqrt(x),
    SpecialOperation.EXP2: np.exp2,
    SpecialOperation.LOG2: np.log2,
    SpecialOperation.SIN: np.sin,
    SpecialOperation.COS: np.cos,
}


@dataclass(frozen=True)
class Sweep:
    """All numbers of some exponents.

    Parameters
    ----------
    operation : SpecialOperation
    text : str
        Description of the numbers.
    exponents : range
        Stored exponents.
    negative : bool
        Whether the numbers are negative.
    floor : float
        Results closer to zero count as this far from it in errors in units of the last place.

    """

    operation: SpecialOperation
    text: str
    exponents: range
    negative: bool = False
    floor: float = 0.0

    def stored(self, stride: int = 1) -> Iterator[np.ndarray]:
        """Yield every `stride`-th number in parts, as stored bits."""
        first = self.exponents.start << FP32.fraction_width
        end = self.exponents.stop << FP32.fraction_width
        sign = NEGATIVE if self.negative else 0
        for start in range(max(first, 1), end, CHUNK * stride):
            yield np.arange(start, min(start + CHUNK * stride, end), stride) | sign


def binade(exponent: int) -> int:
    """Return the stored exponent of numbers from ``2**exponent`` on."""
    return FP32.bias + exponent


def binades(first: int, last: int) -> range:
    """Return the stored exponents of numbers from ``2**first`` to below ``2**(last + 1)``."""
    return range(binade(first), binade(last) + 1)


#: Sweeps by function. One power of two for rcp and two for rsqrt cover every possible error.
SWEEPS = (
    Sweep(SpecialOperation.RCP, "1 to 2", binades(0, 0)),
    Sweep(SpecialOperation.RCP, "2^126 to 2^128, subnormal results", binades(126, 127)),
    Sweep(SpecialOperation.RSQRT, "1 to 4", binades(0, 1)),
    Sweep(SpecialOperation.RSQRT, "subnormal numbers", range(1)),
    Sweep(SpecialOperation.EXP2, "1 to 2", binades(0, 0)),
    Sweep(SpecialOperation.EXP2, "2^-6 to 1", binades(-6, -1)),
    Sweep(SpecialOperation.EXP2, "-1 to -2^-6", binades(-6, -1), negative=True),
    Sweep(SpecialOperation.EXP2, "-256 to -64, subnormal results", binades(6, 7), negative=True),
    Sweep(SpecialOperation.LOG2, "1/4 to 1/2", binades(-2, -2)),
    Sweep(SpecialOperation.LOG2, "1/2 to 1", binades(-1, -1)),
    Sweep(SpecialOperation.LOG2, "1 to 2", binades(0, 0)),
    Sweep(SpecialOperation.LOG2, "2 to 8", binades(1, 2)),
    Sweep(SpecialOperation.LOG2, "2^127 to 2^128", binades(127, 127)),
    Sweep(SpecialOperation.LOG2, "subnormal numbers", range(1)),
    Sweep(SpecialOperation.SIN, "2^-16 to 2^-8", binades(-16, -9)),
    Sweep(SpecialOperation.SIN, "2^-8 to 1", binades(-8, -1)),
    Sweep(SpecialOperation.SIN, "1 to 8", binades(0, 2), floor=0.25),
    Sweep(SpecialOperation.SIN, "2^20 to 2^21", binades(20, 20), floor=0.25),
    Sweep(SpecialOperation.SIN, "2^127 to 2^128", binades(127, 127), floor=0.25),
    Sweep(SpecialOperation.COS, "2^-16 to 2^-8", binades(-16, -9)),
    Sweep(SpecialOperation.COS, "2^-8 to 1", binades(-8, -1)),
    Sweep(SpecialOperation.COS, "1 to 8", binades(0, 2), floor=0.25),
    Sweep(SpecialOperation.COS, "2^20 to 2^21", binades(20, 20), floor=0.25),
    Sweep(SpecialOperation.COS, "2^127 to 2^128", binades(127, 127), floor=0.25),
)


@dataclass
class Errors:
    """Largest errors of a set of results, in units in the last place and absolute."""

    values: int = 0
    ulp: float = 0.0
    absolute: float = 0.0
    correct: int = 0
    worst: int = 0

    def add(self, stored, results, expected, floor: float = 0.0) -> None:
        """Add the stored results of `stored` operands and their expected values."""
        error = np.abs(floats.decode(results, FP32) - expected)
        ulp = error / units_in_last_place(np.maximum(np.abs(expected), floor))
        largest = int(np.argmax(ulp))
        if ulp[largest] > self.ulp:
            self.ulp, self.worst = float(ulp[largest]), int(stored[largest])
        self.absolute = max(self.absolute, float(error.max()))
        self.correct += int(np.count_nonzero(results == floats.round_to(expected, FP32)))
        self.values += len(stored)

    @property
    def correct_share(self) -> float:
        """Share of results that are the FP32 number nearest to the exact value."""
        return self.correct / self.values


def units_in_last_place(values: np.ndarray) -> np.ndarray:
    """Return the spacing of FP32 numbers at each of the positive `values`."""
    last = np.frexp(values)[1] - FP32.significand_width
    return np.ldexp(1.0, np.maximum(last, FP32.least_exponent))


def exact(operation: SpecialOperation, stored: np.ndarray) -> np.ndarray:
    """Return the function of stored numbers in float64."""
    with np.errstate(all="ignore"):
        return EXACT[operation](floats.decode(stored, FP32))


def measured(sweep: Sweep, stride: int = 1) -> Errors:
    """Return the errors of a sweep over every `stride`-th number."""
    errors = Errors()
    for stored in sweep.stored(stride):
        results = special_function(sweep.operation, stored)
        errors.add(stored, results, exact(sweep.operation, stored), sweep.floor)
    return errors
