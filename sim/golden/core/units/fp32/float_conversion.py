"""Golden models of the conversions between FP32 and 32-bit integers.

Whole arrays of stored bits in, stored bits and flags out, all uint32. They follow the RISC-V ISA
manual, "F Extension for Single-Precision Floating-Point", and IEEE 754-2019.
"""

import numpy as np

from ......hw.arith.float.rounding import FLAGS, Rounding
from ......hw.config.formats import FP32
from ....arith.float.floats import decode, rounded, sign_extend

__all__ = ["from_integer", "to_integer"]

WIDTH = 32


def from_integer(
    i, is_signed: bool, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return integers rounded to FP32, and flags."""
    i = np.asarray(i).astype(np.int64)
    values = sign_extend(i, WIDTH) if is_signed else i
    return rounded(values.astype(np.float64), FP32, rounding)


def to_integer(
    i, is_signed: bool, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return floats rounded to integers, as stored bits, and flags: invalid or else inexact."""
    values, rounding = np.broadcast_arrays(decode(i, FP32), rounding)
    below = np.floor(values)
    with np.errstate(invalid="ignore"):
        rest = np.where(np.isfinite(values), values - below, 0.0)
    above = below + (rest > 0)
    half = np.where(rest > 0.5, above, below)
    is_tie = rest == 0.5
    results = {
        Rounding.NEAREST_EVEN: np.where(is_tie, 2 * np.floor(above / 2), half),
        Rounding.TOWARD_ZERO: np.where(values < 0, above, below),
        Rounding.DOWN: below,
        Rounding.UP: above,
        Rounding.NEAREST_AWAY: np.where(is_tie, np.where(values < 0, below, above), half),
    }
    whole = np.select([rounding == mode for mode in results], list(results.values()))
    least = -(2.0 ** (WIDTH - 1)) if is_signed else 0.0
    largest = 2.0 ** (WIDTH - is_signed) - 1
    invalid = ~((whole >= least) & (whole <= largest))
    whole = np.where(np.isnan(values), largest, np.clip(whole, least, largest))
    stored = whole.astype(np.int64) & ((1 << WIDTH) - 1)
    flags = np.where(invalid, FLAGS["invalid"], np.where(rest > 0, FLAGS["inexact"], 0))
    return stored.astype(np.uint32), flags.astype(np.uint32)
