"""Golden models of the conversions between FP32 and 16-bit floats.

Whole arrays of stored bits in, stored bits and flags out, all uint32. They follow Zfhmin and
Zfbfmin of the RISC-V ISA manual: NaN results are canonical, signalling NaN are invalid.
"""

import numpy as np

from .....hw.arith.float.rounding import FLAGS, Rounding
from .....hw.config.formats import FP32, FloatFormat
from .floats import decode, encode, is_signalling, rounded

__all__ = ["narrow", "widen"]


def narrow(
    i, form: FloatFormat, rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return FP32 rounded to `form`, and flags."""
    stored, flags = rounded(decode(i, FP32), form, rounding)
    return stored, np.where(is_signalling(i, FP32), np.uint32(FLAGS["invalid"]), flags)


def widen(i, form: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """Return values of `form` in FP32, and flags: invalid of a signalling NaN."""
    invalid = np.where(is_signalling(i, form), FLAGS["invalid"], 0)
    return encode(decode(i, form), FP32), invalid.astype(np.uint32)
