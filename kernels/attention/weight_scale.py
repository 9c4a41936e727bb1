"""Scale of the weights of attention, with which their products with V stay in range."""

from dataclasses import dataclass

import numpy as np
from amaranth.utils import exact_log2

from ...hw.config import UnitConfig
from ...hw.config.formats import BF16, FORMATS, FP16, FP32
from ...hw.config.tensor import TensorNumerics
from .product_errors import sum_format

__all__ = ["WeightScale", "weight_scale"]

#: Largest exponent by which a stale maximum of 16-bit operands lags behind the scores.
MOST_LAG = 8
#: Exponent by which weights are scaled down.
BIAS = 8


@dataclass(frozen=True, kw_only=True)
class WeightScale:
    """Weights are powers of 2 of scores relative to a maximum, which may lag behind the scores.

    Parameters
    ----------
    bias : int
        Exponent of the weight 2^-bias of a score that equals the maximum.
    lag : int
        Exponent by which a score may exceed the maximum before it replaces it; 0 if it always does.
    limit : int
        Exponent of the largest sum of weights with which programs that compare sums keep a maximum.

    """

    bias: int
    lag: int
    limit: int

    @property
    def most_lag(self) -> int:
        """Exponent by which a score may exceed the maximum, whatever programs compare."""
        return max(self.lag, self.limit + self.bias)

    def relative(self, error):
        """Return an error of weights in units of the weight of the maximum."""
        return error * 2.0**self.bias

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the programs: bias, lag and largest sum, each as a word of FP32."""
        values = {"BIAS": self.bias, "LAG": self.lag, "LIMIT": 2.0**self.limit}
        words = {name: np.float32(value).view(np.uint32) for name, value in values.items()}
        return tuple(f"ATTENTION_{name}={word:#010x}" for name, word in words.items())


def weight_scale(unit: UnitConfig | TensorNumerics) -> WeightScale:
    """Return the scale of weights on a unit.

    - FP16 operands whose products have the range of FP32 need none.
    - If products are also added in FP16, the weights of a sum add up to at most 1/2, so that no
      product with a finite V and no sum of them overflows. The other half is room for roundings.
    - BF16 has the range of FP32 itself: weights are at most 1.
    - FP32 operands follow each rise of the maximum, and weights are at most 1.
    """
    operand = FORMATS[unit.operand]
    if operand == FP32:
        return WeightScale(bias=0, lag=0, limit=0)
    if sum_format(unit) == FP16:
        assert isinstance(unit, TensorNumerics)
        return WeightScale(bias=BIAS, lag=BIAS - 1 - exact_log2(unit.terms), limit=-1)
    bias = BIAS if operand == BF16 else 0
    return WeightScale(bias=bias, lag=MOST_LAG, limit=MOST_LAG - bias)
