"""Golden model of the fused multiply-add unit."""

import numpy as np

from .....hw.arith.float.fma import FmaOperation
from .....hw.arith.float.rounding import FLAGS, Rounding
from .....hw.config.formats import FP32, FloatFormat
from ..stored import require_members
from . import floats

__all__ = ["fma"]

ADDITIONS = (FmaOperation.FADD, FmaOperation.FSUB)
NEGATED_PRODUCTS = (FmaOperation.FNMSUB, FmaOperation.FNMADD)
NEGATED_ADDENDS = (FmaOperation.FMSUB, FmaOperation.FNMADD, FmaOperation.FSUB)


def fma(
    operation: FmaOperation | np.ndarray,
    a,
    b,
    c,
    rounding: Rounding | np.ndarray = Rounding.NEAREST_EVEN,
    form: FloatFormat = FP32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of `operation` on stored `a`, `b` and `c`, and the flags (both uint32).

    The product of two FP32 is exact in float64; the sum is held there rounded to odd. Operation
    and rounding are one for all vectors or one per vector.
    """
    require_members("operation", operation, FmaOperation)
    arrays = (np.asarray(x) for x in (operation, a, b, c, rounding))
    operation, a, b, c, rounding = np.broadcast_arrays(*arrays)
    is_addition = np.isin(operation, ADDITIONS)
    is_product = operation == FmaOperation.FMUL
    one = form.bias << form.fraction_width
    factors = a, np.where(is_addition, one, b)
    addend_bits = np.where(is_addition, b, np.where(is_product, 0, c))
    used = (*factors, addend_bits)

    with np.errstate(invalid="ignore"):
        product = floats.decode(factors[0], form) * floats.decode(factors[1], form)
        product = np.where(np.isin(operation, NEGATED_PRODUCTS), -product, product)
        addend = floats.decode(addend_bits, form)
        addend = np.where(np.isin(operation, NEGATED_ADDENDS), -addend, addend)
        total = np.where(is_product, product, floats.sum_to_odd(product, addend))
    # An exact zero from opposite zeros or from cancellation has the sign of the rounding direction.
    is_cancelled = (total == 0) & (np.signbit(product) != np.signbit(addend)) & ~is_product
    total = np.where(is_cancelled & (rounding == Rounding.DOWN), -0.0, total)
    stored, flags = floats.rounded(total, form, rounding)

    is_signalling = np.any([floats.is_signalling(x, form) for x in used], axis=0)
    made_of_numbers = ~np.any([np.isnan(floats.decode(x, form)) for x in used], axis=0)
    is_new_nan = np.isnan(total) & made_of_numbers
    # Infinity times zero is invalid even with a quiet NaN as the addend.
    is_infinite_zero = np.isnan(product) & ~np.any(
        [np.isnan(floats.decode(x, form)) for x in factors], axis=0
    )
    is_invalid = is_signalling | is_new_nan | is_infinite_zero
    return stored, np.where(is_invalid, np.uint32(FLAGS["invalid"]), flags)
