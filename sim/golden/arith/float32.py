"""Golden models of FP32 operations of cores, on arrays of values."""

import numpy as np

from ....hw.config.formats import FORMATS, FP32, FloatFormat
from ....hw.isa.operations import SpecialOperation
from .float.floats import convert, multiply_add
from .special.special_function import special_function

__all__ = ["fused", "special", "stored"]


def special(operation: SpecialOperation, x) -> np.ndarray:
    """Return a special function of FP32 numbers."""
    bits = stored(x, "fp32")
    return special_function(operation, bits.ravel()).view(np.float32).reshape(bits.shape)


def fused(a, b, c) -> np.ndarray:
    """Return ``a * b + c`` of FP32 numbers, rounded once."""
    bits = (stored(x, "fp32") for x in np.broadcast_arrays(a, b, c))
    return multiply_add(*bits, operand=FP32).view(np.float32)


def stored(values, form: str) -> np.ndarray:
    """Return FP32 numbers rounded to a format, stored, with its NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    bits = np.where(np.isnan(values), np.uint32(FP32.nan), bits)
    target = FORMATS[form]
    assert isinstance(target, FloatFormat)
    return bits if target == FP32 else convert(bits, FP32, target)
