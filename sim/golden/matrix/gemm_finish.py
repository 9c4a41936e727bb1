"""Golden model of the cores' epilogues of a product, bit-exact: sum with C, or f(sum with bias)."""

import math

import numpy as np

from ....hw.isa.operations import SpecialOperation
from ..arith.float32 import fused, special
from .systolic.systolic import read_out

__all__ = ["add_to", "finished"]

#: 2^112, the scale of a result that is converted to FP16.
SCALE = np.float32(2.0**112)


def add_to(before: np.ndarray, total: np.ndarray, c_format: str) -> np.ndarray:
    """Return the product `total`, in the accumulator's format, plus the previous C.

    The sum is rounded to FP32, then to the format of C; integers wrap.
    """
    if c_format == "int32":
        return (before.view(np.uint32) + total.view(np.uint32)).view(np.int32)
    with np.errstate(all="ignore"):
        return read_out(before.astype(np.float32) + total.astype(np.float32), c_format)


def finished(kernel: str, total: np.ndarray, bias: np.ndarray, c_format: str) -> np.ndarray:
    """Return f of the product plus a bias per column, as computed by the cores.

    The sum is rounded to FP32. With ``gemm_bias`` f(x) = x. With ``gemm_bias_relu`` negative x
    become +0, and NaN stays. For ``gemm_bias_gelu`` see `gelu`.
    """
    with np.errstate(all="ignore"):
        x = total.astype(np.float32) + bias[None, :]
        if kernel == "gemm_bias_gelu":
            return gelu(x, c_format)
        return read_out(x, c_format, relu=kernel == "gemm_bias_relu")


def gelu(x: np.ndarray, c_format: str) -> np.ndarray:
    """Return GELU of x as computed by the cores.

    Every operation is rounded to FP32: t = x · fma(x · x, k1, k0),
    d = fma(2^t, s, s), y = x · (1 / d); 2^t and 1 / d are special functions. FP32 uses y with
    s = 1. FP16 uses y with s = 2^-112, so that it is infinite from 2^16 on, and rounds
    y · 2^-112.
    """
    linear = -2 * math.log2(math.e) * math.sqrt(2 / math.pi)
    k0, k1 = np.float32(linear), np.float32(0.044715 * linear)
    scale = np.float32(1) / SCALE if c_format == "fp16" else np.float32(1)
    with np.errstate(all="ignore"):
        exponent = x * fused(x * x, k1, k0)
        divisor = fused(special(SpecialOperation.EXP2, exponent), scale, scale)
        y = x * special(SpecialOperation.RCP, divisor)
        if c_format == "fp16":
            y = y.astype(np.float64) / np.float64(SCALE)
            result = y.astype(np.float16)
            result.view(np.uint16)[np.isnan(y)] = 0x7E00
            return result
    return read_out(y, "fp32")
