"""Operands for matrix products: usual values, small integers, and what breaks arithmetic."""

import numpy as np

from .problem import GemmProblem

__all__ = ["KINDS", "operands"]

KINDS = ("random", "integers", "extreme")

#: FP16 corners: zeros, least and greatest subnormals and normals, infinities, NaNs.
CORNERS = np.array(
    [
        0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400,
        0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF,
    ],
    dtype=np.uint16,
)  # fmt: skip
FINITE_CORNERS = CORNERS[:13]


def operands(problem: GemmProblem, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B.

    ``random`` are normal deviates, ``integers`` are small enough that every sum is exact,
    ``extreme`` mixes, by rows of A and columns of B, values near overflow of FP16 results,
    subnormals, cancelling pairs, signed zeros, and in a few of them infinities and NaNs.
    """
    if kind not in KINDS:
        raise ValueError(f"data must be one of {', '.join(KINDS)}, not {kind!r}")
    rng = np.random.default_rng(seed)
    shapes = ((problem.m, problem.k), (problem.k, problem.n))
    if problem.operand == "int8":
        low, high = (-8, 8) if kind == "integers" else (-128, 128)
        a, b = (rng.integers(low, high, shape, dtype=np.int8) for shape in shapes)
        if kind == "extreme":
            a, b = (rng.choice(np.array([-128, 127, 0, -1], np.int8), x.shape) for x in (a, b))
        return a, b
    if kind == "integers":
        a, b = (rng.integers(-8, 8, shape, endpoint=True) for shape in shapes)
        return a.astype(np.float16), b.astype(np.float16)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in shapes)
    if kind == "extreme":
        _make_extreme(a, rng)
        transposed = np.ascontiguousarray(b.T)
        _make_extreme(transposed, rng)
        b = np.ascontiguousarray(transposed.T)
    return a, b


def _make_extreme(vectors: np.ndarray, rng: np.random.Generator):
    """Replace the values of whole vectors, one character each, so that all kinds meet.

    A NaN or an infinity spoils a whole row or column of C: most vectors stay free of them.
    """
    count, length = vectors.shape
    characters = rng.permutation(np.arange(count) % 8)
    for vector, character in zip(vectors, characters, strict=True):
        bits = vector.view(np.uint16)
        if character == 1:
            vector *= np.float16(1000)
        elif character == 2:  # subnormal
            bits[:] = rng.integers(0, 0x400, length) | rng.integers(0, 2, length) << 15
        elif character == 3:  # signed zeros
            bits[:] = rng.integers(0, 2, length, dtype=np.uint16) << 15
        elif character == 4:  # any exponent, finite
            bits[:] = rng.integers(0, 0x7C00, length) | rng.integers(0, 2, length) << 15
        elif character == 5:  # large values that cancel
            vector[1::2] = -vector[: length // 2 * 2 : 2]
        elif character == 6:
            hit = rng.random(length) < 0.3
            bits[hit] = rng.choice(FINITE_CORNERS, np.count_nonzero(hit))
        elif character == 7 and rng.random() < 0.5:
            hit = rng.integers(0, length, max(1, length // 32))
            bits[hit] = rng.choice(CORNERS, len(hit))
