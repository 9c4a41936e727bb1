"""Golden models of the conversions between FP32 and 16-bit floats in registers."""

import numpy as np

from ......hw.arith.float.rounding import Rounding
from ......hw.config.formats import BF16, FP16, FloatFormat
from ......hw.isa.operations import FloatOperation
from ....arith.float.narrow import narrow, widen

__all__ = ["NARROWING", "WIDENING", "form_of", "from_half", "to_halves"]

NARROWING = (
    *(FloatOperation.TO_FP16, FloatOperation.TO_BF16),
    *(FloatOperation.PACK_FP16, FloatOperation.PACK_BF16),
)
WIDENING = tuple(
    FloatOperation[f"{name}_{form}"]
    for name in ("FROM", "LOW", "HIGH")
    for form in ("FP16", "BF16")
)


def form_of(operation: FloatOperation) -> FloatFormat:
    """Return the 16-bit format of a conversion."""
    return BF16 if operation.name.endswith("BF16") else FP16


def to_halves(
    operation: FloatOperation, a, b, rounding: Rounding | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return `a` rounded, below ones or below `b` rounded, and flags."""
    low, flags = narrow(a, form_of(operation), rounding)
    high = np.uint32(0xFFFF)
    if operation.name.startswith("PACK"):
        high, more = narrow(b, form_of(operation), rounding)
        flags = flags | more
    return low | high << np.uint32(16), flags


def from_half(operation: FloatOperation, a) -> tuple[np.ndarray, np.ndarray]:
    """Return the low or the high half of `a` in FP32, and flags."""
    form = form_of(operation)
    low, high = a & np.uint32(0xFFFF), a >> np.uint32(16)
    if operation.name.startswith("HIGH"):
        return widen(high, form)
    if operation.name.startswith("FROM"):
        low = np.where(high == 0xFFFF, low, np.uint32(form.nan))
    return widen(low, form)
