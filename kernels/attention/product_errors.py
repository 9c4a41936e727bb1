"""Error bounds of the products of attention, by the numerics of the unit that multiplies."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from ...hw.config import UnitConfig
from ...hw.config.formats import FP16, FP32, FloatFormat
from ...hw.config.numerics import TREES
from ...hw.config.tensor import TensorNumerics
from ..floats import HALF_LEAST, ROUNDOFF
from ..gemm.reference import half_least, roundoff

__all__ = ["ProductErrors", "product_errors", "sum_format"]

#: Largest relative error of a term of sums that truncate: 22 bits below the largest term.
TRUNCATION = 2.0**-22


@dataclass(frozen=True, kw_only=True)
class ProductErrors:
    """Bounds of the error of a sum of products, the magnitudes of which sum to S.

    Parameters
    ----------
    relative : float
        Largest error divided by S.
    least : float
        Largest error in addition, of tiny numbers.
    overflow : float
        Magnitude S from which an intermediate result may overflow.

    """

    relative: float
    least: float
    overflow: float


def product_errors(unit: UnitConfig | TensorNumerics, length: int, parts: int = 1) -> ProductErrors:
    """Return the errors of a sum of `length` products, computed in `parts` of any lengths.

    Chains of a systolic array pass as many roundings as it has rows, or as there are products if
    sums stay in the array, and one for each sum that is added to the accumulator. The sums of
    tensor units are those of `gemm.tensor.reference`: in trees, a product passes its own rounding
    and one per level, then one to FP32 per step; others truncate.
    """
    if not isinstance(unit, TensorNumerics):
        chain = unit.chain(length)
        steps = min(chain, length) + -(-length // chain) + parts
        return errors_of(steps * ROUNDOFF, steps * HALF_LEAST, FP32)
    steps = -(-length // unit.terms) + parts
    if unit.numerics not in TREES:
        relative = steps * (unit.terms + 2) * TRUNCATION
        return errors_of(relative, steps * HALF_LEAST, FP32)
    form = sum_format(unit)
    roundings = 1 + exact_log2(unit.terms)
    least = steps * (2 * unit.terms - 1) * half_least(form)
    return errors_of(roundings * roundoff(form) + steps * ROUNDOFF, least, form)


def sum_format(unit: UnitConfig | TensorNumerics) -> FloatFormat:
    """Return the format of products and of the sums that are added to the accumulator."""
    is_tree = isinstance(unit, TensorNumerics) and unit.numerics in TREES
    return FP16 if is_tree and unit.operand == "fp16" else FP32


def errors_of(roundings: float, least: float, form: FloatFormat) -> ProductErrors:
    """Return the errors of a sum whose terms pass roundings of these relative errors in total.

    Several factors ``1 + d`` differ from 1 by at most ``R / (1 - R)``, with R the sum of ``|d|``.
    An error of tiny numbers passes them too.
    """
    relative = roundings / (1 - roundings)
    return ProductErrors(
        relative=relative,
        least=least * (1 + relative),
        overflow=2.0**form.largest_exponent,
    )
