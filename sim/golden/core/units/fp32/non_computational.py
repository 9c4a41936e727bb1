"""Golden models of FP32 classes, comparisons and sign injection.

Whole arrays of stored bits in, stored bits and flags out, all uint32. They follow the RISC-V ISA
manual, "F Extension for Single-Precision Floating-Point", and IEEE 754-2019.
"""

import numpy as np

from ......hw.arith.float.rounding import FLAGS
from ......hw.config.formats import FP32
from ......hw.isa.operations import FloatOperation
from ....arith.float.floats import decode, is_signalling

__all__ = ["CLASSES", "classify", "compare", "sign_inject"]

#: Classes in the order of the bits of ``fclass.s``.
CLASSES = (
    *(f"negative_{kind}" for kind in ("infinity", "normal", "subnormal", "zero")),
    *(f"positive_{kind}" for kind in ("zero", "subnormal", "normal", "infinity")),
    *("signalling_nan", "quiet_nan"),
)
LEAST_NORMAL = float(np.ldexp(1.0, FP32.least_exponent + FP32.fraction_width))


def classify(i) -> np.ndarray:
    """Return the one-hot class of each stored value, as ``fclass.s`` does."""
    values = decode(i, FP32)
    size = np.abs(values)
    signs = np.where(np.signbit(values), "negative", "positive")
    kinds = np.select(
        [np.isinf(values), size == 0, size < LEAST_NORMAL],
        ["infinity", "zero", "subnormal"],
        "normal",
    )
    names = np.char.add(np.char.add(signs, "_"), kinds)
    names = np.where(np.isnan(values), "quiet_nan", names)
    names = np.where(is_signalling(i, FP32), "signalling_nan", names)
    bits = [np.uint32(1 << number) for number in range(len(CLASSES))]
    return np.select([names == name for name in CLASSES], bits)


def compare(operation: FloatOperation, a, b) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 or 0, or for MIN and MAX one of the operands; and flags."""
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    x, y = decode(a, FP32), decode(b, FP32)
    x_is_nan, y_is_nan = np.isnan(x), np.isnan(y)
    invalid = is_signalling(a, FP32) | is_signalling(b, FP32)
    if operation in (FloatOperation.LT, FloatOperation.LE):
        invalid |= x_is_nan | y_is_nan
    if operation in (FloatOperation.MIN, FloatOperation.MAX):
        # Numeric order, with -0 before +0.
        is_first = (x < y) | ((x == y) & (np.signbit(x) >= np.signbit(y)))
        takes_a = is_first if operation == FloatOperation.MIN else ~is_first
        picked = np.where(x_is_nan | ~(y_is_nan | takes_a), b, a)
        result = np.where(x_is_nan & y_is_nan, FP32.nan, picked)
    else:
        results = {FloatOperation.EQ: x == y, FloatOperation.LT: x < y, FloatOperation.LE: x <= y}
        result = results[operation]
    return result.astype(np.uint32), np.where(invalid, FLAGS["invalid"], 0).astype(np.uint32)


def sign_inject(operation: FloatOperation, a, b) -> np.ndarray:
    """Return `a` with the sign of `b`, its inverse, or both signs XORed."""
    a, b = np.asarray(a, np.uint32), np.asarray(b, np.uint32)
    sign = np.uint32(1 << FP32.magnitude_width)
    signs = {FloatOperation.SGNJ: b, FloatOperation.SGNJN: ~b, FloatOperation.SGNJX: a ^ b}
    return (a & ~sign) | (signs[operation] & sign)
