"""Operands of matrix products: random values, small integers, and arithmetic corner cases."""

import numpy as np

from ...hw.config.arithmetic import ARITHMETIC
from ...hw.config.formats import FORMATS, FloatFormat
from ..elements import dtype_of, nearest
from .problem import GemmProblem

__all__ = ["KINDS", "operands"]

KINDS = ("random", "integers", "extreme")


def operands(problem: GemmProblem, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B in the form of `kernels.elements`.

    ``random``: normal deviates, or integers over the whole range for integer formats. ``integers``:
    values so small that every sum is exact. ``extreme``: a mix by rows of A and columns of B;
    products near overflow or underflow of results, subnormals, cancelling pairs, signed zeros, and
    infinities and NaNs in a few of them.
    """
    if kind not in KINDS:
        raise ValueError(f"data must be one of {', '.join(KINDS)}, not {kind!r}")
    rng = np.random.default_rng(seed)
    shapes = ((problem.m, problem.k), (problem.k, problem.n))
    form = FORMATS[problem.operand]
    if not isinstance(form, FloatFormat):
        return integer_operands(kind, shapes, dtype_of(problem.operand), rng)
    if kind == "integers":
        deviates = (rng.integers(-8, 8, shape, endpoint=True).astype(float) for shape in shapes)
    else:
        deviates = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    a, b = (nearest(values, problem.operand) for values in deviates)
    if kind == "extreme":
        make_extreme(a, problem.operand, rng)
        transposed = np.ascontiguousarray(b.T)
        make_extreme(transposed, problem.operand, rng)
        b = np.ascontiguousarray(transposed.T)
    return a, b


def integer_operands(kind, shapes, dtype, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of an integer type."""
    limits = np.iinfo(dtype)
    low, high = (-8, 8) if kind == "integers" else (limits.min, limits.max)
    a, b = (rng.integers(low, high, shape, dtype=dtype, endpoint=True) for shape in shapes)
    if kind == "extreme":
        extremes = np.array([limits.min, limits.max, 0, -1], dtype)
        a, b = (rng.choice(extremes, x.shape) for x in (a, b))
    return a, b


def corners(form: FloatFormat) -> np.ndarray:
    """Return the stored bits of zeros and of the borders between classes, both signs."""
    one, least_normal = form.bias << form.fraction_width, 1 << form.fraction_width
    finite = [0, 1, least_normal - 1, least_normal, one, one + 1, form.largest]
    # Codes above the largest finite number: infinity, if the format has one, and NaN.
    above = range(form.largest + 1, form.magnitude_mask + 1)
    others = {*above[:2], *above[-1:], form.nan}
    magnitudes = np.array([*finite, *sorted(others)])
    return np.stack([magnitudes, magnitudes | 1 << form.magnitude_width], axis=1).ravel()


def make_extreme(vectors: np.ndarray, operand: str, rng: np.random.Generator):
    """Replace whole vectors, one kind of value each, so that products have all pairs of kinds.

    A NaN or an infinity spoils a whole row or column of C, so most vectors stay free of them.
    """
    form = FORMATS[operand]
    assert isinstance(form, FloatFormat)
    count, length = vectors.shape
    every = corners(form)
    is_finite = (every & form.magnitude_mask) <= form.largest
    finite, specials = every[is_finite], every[~is_finite]
    sign = 1 << form.magnitude_width
    # A product of two such factors exceeds the largest result or is below the least.
    result = FORMATS[ARITHMETIC[operand].narrow]
    assert isinstance(result, FloatFormat)
    reach = result.largest_exponent * 5 // 8
    characters = rng.permutation(np.arange(count) % 8)
    for vector, character in zip(vectors, characters, strict=True):
        bits = vector.view(f"u{vector.itemsize}")
        signs = rng.integers(0, 2, length) * sign
        if character == 1:
            factor = 2.0 ** (reach if rng.random() < 0.7 else -reach)
            vector[:] = nearest(rng.standard_normal(length) * factor, operand)
        elif character == 2:  # subnormal
            bits[:] = rng.integers(0, 1 << form.fraction_width, length) | signs
        elif character == 3:  # signed zeros
            bits[:] = signs
        elif character == 4:  # any exponent, finite
            bits[:] = rng.integers(0, form.largest, length, endpoint=True) | signs
        elif character == 5:  # values that cancel
            bits[1::2] = bits[: length // 2 * 2 : 2] ^ sign
        elif character == 6:
            hit = rng.random(length) < 0.3
            bits[hit] = rng.choice(finite, np.count_nonzero(hit))
        elif character == 7 and rng.random() < 0.5:
            hit = rng.integers(0, length, max(1, length // 32))
            bits[hit] = rng.choice(specials, len(hit))
