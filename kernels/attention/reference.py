"""Reference of attention in float64, with an error bound for each element."""

from dataclasses import dataclass, replace

import numpy as np

from ...hw.config import UnitConfig
from ...hw.config.formats import FORMATS, FP32, FloatFormat
from ...hw.config.tensor import TensorNumerics
from ..elements import values_of
from ..floats import HALF_LEAST, ROUNDOFF
from ..gemm.reference import finite_magnitude, half_least, roundoff
from .problem import AttentionProblem
from .product_errors import ProductErrors, product_errors
from .weight_scale import WeightScale, weight_scale

__all__ = ["LEAST_BLOCK", "Expected", "reference"]

#: Least keys that programs process between two changes of a row's maximum, but for the last block.
LEAST_BLOCK = 8
#: Factor of the bounds for products of several small errors.
SECOND_ORDER = 1 + 2.0**-12
#: Logarithm of the largest factor by which a weight is taken for wrong: FP64 must hold it.
MOST = 600.0
#: Roundings of maximum times scale from which weights have no meaning: of 2^23 and more.
MOST_SHIFT = 0.5
#: Rows of scores that are in memory at a time.
ROWS = 256


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected O and LSE in float64, and the largest correct distance from each element."""

    o: np.ndarray
    o_bound: np.ndarray
    lse: np.ndarray
    lse_bound: np.ndarray


def reference(
    problem: AttentionProblem,
    unit: UnitConfig | TensorNumerics,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    block: int = LEAST_BLOCK,
    *,
    is_extreme: bool = False,
) -> Expected:
    """Return O and LSE in float64, and bounds that hold for any order of sums.

    Arrays have the shapes of `problem`, in the form of `kernels.elements`. Programs scan the keys
    in blocks of any lengths of at least `block`. Let u be the unit roundoff of FP32, x a row's
    exact scores times the scale, M their maximum, and p the exact softmax. The computed weight of
    key j, with all later rescales, is that of exact scores times ``exp(e)``, where e sums:

    - the scale times the error of the score's sum of products (`product_errors`).
    - g (M - x), with g the relative error of `scale_log2`. It is linear in the scores, so any
      reference of the row does for O. LSE has g abs(M) more.
    - 2 u (M - x + 2 E): roundings of the exponents, one in a weight, two in a rescale. These
      exponents add up to M' - x', where E bounds the error of scores times the scale. A lazy
      rescale adds at most ln 2 times the lag of `weight_scale` to either kind.
    - u A: roundings of the product of maximum and scale. A is the largest magnitude of a score
      times the scale, plus the bias of weights. They differ between blocks and do not cancel in
      the quotient.
    - 2 u for the weight and each rescale, as exp2 is within 1 ulp.

    A weight is then rounded to the operand's format; the sum of weights may take it before or
    after. The sum G of p exp(e) bounds the relative growth of the sum of weights and, by Jensen's
    inequality, also its decrease: 1 / G is at most the sum of p exp(-e). In addition each weight
    passes at most keys - 1 additions, and a product and an addition per block, in any order.
    Products with V have the errors of `product_errors`, relative to the sum of p exp(e) abs(v),
    and a product and an addition per block. The reciprocal is within 1 ulp, the last product
    rounds once, and a narrow O once more.

    Tiny weights lose half the least number of their format, in units of the row's largest weight,
    2^-bias, and are divided by the sum of computed weights: at least 1 in these units, and at least
    the exact sum of exp(x - M) times exp(-2 E), both times exp(-u A). Independently of errors of
    scores, O is an average of V with positive weights; the bound of O never exceeds the distance of
    such averages.

    LSE has the logarithm of the growth of the sum, and roundings of its own: maximum times scale,
    log2 within 1 ulp, their sum, ln 2 and the last product.

    Bounds are infinite where u A reaches 1/2, so that the largest weight is far from 2^-bias, and
    in columns of V with infinities or NaN, since units also multiply them by weights of 0. Rows
    without a visible key are exact. No bound covers results with a score or a sum of products with
    V that overflows; if the operands `is_extreme`, bounds are infinite where scores may.
    """
    scale, scores = weight_scale(unit), product_errors(unit, problem.depth)
    blocks = -(-problem.keys // block)
    sums = product_errors(unit, problem.keys, blocks)
    wide = {name: values_of(x, problem.operand) for name, x in (("q", q), ("k", k), ("v", v))}
    parts = []
    with np.errstate(all="ignore"):
        for head in range(problem.problems):
            keys, values = (wide[name][head // problem.group] for name in "kv")
            for first in range(0, problem.queries, ROWS):
                rows = wide["q"][head, first : first + ROWS]
                visible = problem.visible(first, first + ROWS)
                weights = weights_of(problem, scale, scores, rows, keys, visible, blocks)
                if not is_extreme:
                    weights = replace(weights, may_overflow=np.zeros_like(weights.may_overflow))
                parts.append((*outputs(problem, sums, weights, values, blocks), *lse_of(weights)))
    o, o_bound, lse, lse_bound = map(np.concatenate, zip(*parts, strict=True))
    shapes = problem.shapes
    return Expected(
        o=o.reshape(shapes["o"]),
        o_bound=o_bound.reshape(shapes["o"]),
        lse=lse.reshape(shapes["lse"]),
        lse_bound=lse_bound.reshape(shapes["lse"]),
    )


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Softmax of some rows, and the errors of its computation.

    Parameters
    ----------
    p : ndarray
        Exact softmax; 0 in rows without a visible key.
    grown : ndarray
        Softmax times ``exp(e)``, the largest computed weights of the same row.
    visible : ndarray
        Whether a query attends to a key with a score above minus infinity.
    most, total : ndarray
        Largest score times scale, and sum of the exponentials of the distances from it, by row.
    least_total : ndarray
        Least sum of computed weights, relative to the largest score.
    shift : ndarray
        Bound of the roundings of maximum times scale.
    growth : ndarray
        Largest factor by which the sum of weights may be too large or too small.
    scale : WeightScale
        Scale of the weights.
    scale_error : float
        Relative error of the scale of the scores.
    may_overflow : ndarray
        Whether a sum of products of a row's scores may overflow.

    """

    p: np.ndarray
    grown: np.ndarray
    visible: np.ndarray
    most: np.ndarray
    total: np.ndarray
    least_total: np.ndarray
    shift: np.ndarray
    growth: np.ndarray
    scale: WeightScale
    scale_error: float
    may_overflow: np.ndarray

    @property
    def is_unbounded(self) -> np.ndarray:
        """Whether a row has no bound: a score may overflow, or weights are without meaning."""
        return self.may_overflow | (self.shift >= MOST_SHIFT)


def weights_of(
    problem: AttentionProblem,
    weight_scale: WeightScale,
    errors: ProductErrors,
    q: np.ndarray,
    k: np.ndarray,
    visible: np.ndarray,
    blocks: int,
) -> Weights:
    """Return the softmax of some rows of scores, and its errors."""
    form = operand_format(problem)
    scale = problem.exact_scale
    bias = weight_scale.bias * np.log(2)
    scale_error = abs(float(problem.scale_log2) * np.log(2) / scale - 1) + 2.0**-50
    x = np.where(visible, scale * (q @ k.T), -np.inf)
    visible = visible & ~np.isneginf(x)
    magnitude = finite_magnitude(q, k.T)
    error = scale * (errors.relative * magnitude + errors.least)
    is_sound = visible & np.isfinite(x)
    reach = magnitude * (1 + errors.relative)
    may_overflow = np.any(is_sound & (reach >= errors.overflow), axis=1, keepdims=True)
    # The largest score, a NaN if there is one; then the whole row is NaN.
    most = x.max(axis=1, keepdims=True)
    below = np.where(visible, most - x, 0.0)
    exact = np.where(visible, np.exp(-below), 0.0)
    total = exact.sum(axis=1, keepdims=True)
    p = np.where(visible, exact / total, 0.0)
    largest = np.where(is_sound, np.abs(x) + error, 0.0).max(axis=1, keepdims=True)
    moved = 2 * np.where(is_sound, error, 0.0).max(axis=1, keepdims=True)
    exponents = below + moved + bias + 2 * weight_scale.most_lag * np.log(2)
    shift = ROUNDOFF * (largest + bias)
    least_total = np.maximum(1.0, total * np.exp(-moved)) * np.exp(-shift)
    e = error + scale_error * below + 2 * ROUNDOFF * (exponents + 1 + blocks) + shift
    grown = p * np.exp(np.minimum(e * SECOND_ORDER, MOST))
    steps = (visible.shape[1] - 1 + 2 * blocks) * ROUNDOFF
    # Loss of tiny weights, relative to the row's sum.
    lost = weight_scale.relative(tiny_weight(form, blocks))
    tiny = visible.sum(axis=1, keepdims=True) * lost / least_total
    growth = grown.sum(axis=1, keepdims=True) * (1 + roundoff(form)) / (1 - steps - tiny)
    return Weights(
        p=p,
        grown=grown,
        visible=visible,
        most=most,
        total=total,
        least_total=least_total,
        shift=shift,
        growth=np.where(steps + tiny < 0.5, growth, np.inf),
        scale=weight_scale,
        scale_error=scale_error,
        may_overflow=may_overflow,
    )


def outputs(
    problem: AttentionProblem, errors: ProductErrors, weights: Weights, v: np.ndarray, blocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows of O, and their bounds."""
    form = operand_format(problem)
    is_empty = ~weights.visible.any(axis=1, keepdims=True)
    o = weights.p @ v
    sizes = np.where(np.isfinite(v), np.abs(v), 0.0)
    relative = errors.relative + 2 * blocks * ROUNDOFF + roundoff(form)
    lost = tiny_weight(form, blocks) * (weights.visible @ sizes) + errors.least
    tiny = weights.scale.relative(lost) / weights.least_total
    magnitude = weights.grown @ sizes
    # The products with V, before their division by the sum of weights.
    sums = (weights.grown - weights.p) @ sizes + relative * magnitude + tiny
    last = 3 * ROUNDOFF
    bound = sums * weights.growth + np.abs(o) * (weights.growth - 1)
    # Averages of V with any positive weights, whose sums have the same relative errors.
    sizes_seen = largest_seen(sizes, weights.visible)
    slack = (1 + relative) * (1 + problem.keys * ROUNDOFF + roundoff(form)) * SECOND_ORDER
    average = np.abs(o) + sizes_seen * slack**2 + 2 * tiny
    bound = np.minimum(bound, average)
    bound = (bound + last * (np.abs(o) + bound) + HALF_LEAST) * SECOND_ORDER
    if form != FP32:
        bound = bound + (np.abs(o) + bound) * roundoff(form) + half_least(form)
    is_unbounded = weights.is_unbounded | ~np.isfinite(v).all(axis=0)
    o = np.where(is_empty, 0.0, o)
    return o, np.where(is_empty, 0.0, np.where(is_unbounded, np.inf, bound))


def largest_seen(sizes: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Return the largest of the sizes up to the last visible key, by row and column."""
    last = visible.shape[1] - 1 - np.argmax(visible[:, ::-1], axis=1)
    return np.maximum.accumulate(sizes)[last]


def lse_of(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithm of each row's sum of exponentials, and its bound."""
    lse = weights.most + np.log(weights.total)
    scale = weights.scale
    exponents = np.log(weights.total) + (scale.most_lag + 2 * scale.bias + 1) * np.log(2)
    own = weights.shift + 2 * ROUNDOFF * exponents
    own += weights.scale_error * np.abs(weights.most) + 4 * ROUNDOFF * np.abs(lse)
    bound = (np.log(weights.growth) + own) * SECOND_ORDER + 2 * HALF_LEAST
    is_empty = ~weights.visible.any(axis=1, keepdims=True)
    lse = np.where(is_empty, -np.inf, lse)
    bound = np.where(is_empty, 0.0, np.where(weights.is_unbounded, np.inf, bound))
    return lse[:, 0], bound[:, 0]


def operand_format(problem: AttentionProblem) -> FloatFormat:
    """Return the format of the operands."""
    form = FORMATS[problem.operand]
    assert isinstance(form, FloatFormat)
    return form


def tiny_weight(form: FloatFormat, blocks: int) -> float:
    """Return the largest error of a tiny weight: its rounding, exp2 and the rescales."""
    return (0.0 if form == FP32 else half_least(form)) + 2 * (blocks + 1) * HALF_LEAST
