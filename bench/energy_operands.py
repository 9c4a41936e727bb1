"""Operands of products for the energy of data that are not random."""

import numpy as np

__all__ = ["OPERANDS", "operands"]


def zeros(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of zeros."""
    return np.zeros((m, k)), np.zeros((k, n))


def attention(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of a softmax as A, most of them small, and normal deviates as B."""
    rng = np.random.default_rng(1)
    scores = 3.0 * rng.standard_normal((m, k))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), rng.standard_normal((k, n))


#: Operands by name.
OPERANDS = {"zeros": zeros, "attention": attention}


def operands(name: str, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B in FP32."""
    a, b = OPERANDS[name](m, n, k)
    return a.astype(np.float32), b.astype(np.float32)
