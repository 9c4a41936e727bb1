"""Problem of C = A · B + C for the cores: data and expected results."""

from dataclasses import replace

import numpy as np

from ...hw.config import MachineConfig
from ..elements import dtype_of
from ..floats import EXTREMES
from ..kernel import Problem
from .finished import posed_product, rounded
from .problem import GemmProblem
from .product import with_gaps

__all__ = ["pose"]


def pose(
    config: MachineConfig, rng: np.random.Generator, *, c: np.ndarray | None = None, **options
) -> tuple[Problem, GemmProblem]:
    """Return the problem for a program, and the product for models.

    The product is rounded to the accumulator's format, its sum with C to the same format, and the
    result to the format of C; integers wrap. `c` has the initial elements of C in its format; None
    for elements from `rng`. Options are those of `pose` of the style.
    """
    problem, product, values, bound = posed_product(config, rng, **options)
    shape = problem.buffers["c"].data.shape
    before = addends(rng, shape, product, options.get("data", "random")) if c is None else c
    added = before[:, : product.n].astype(np.float64)
    with np.errstate(all="ignore"):
        total = values + added
        if product.c_format == "int32":
            total = total.astype(np.int64).astype(np.uint32).view(np.int32).astype(np.float64)
        bound = rounded(total, bound, "fp32" if before.dtype.kind == "f" else "int32")
        if product.c_format == "fp16":
            bound = rounded(total, bound, "fp16")
    expected, bounds = with_gaps(before, total, bound, product.c_format)
    result = replace(problem.buffers["c"], data=before, expected=expected, bound=bounds)
    buffers = problem.buffers | {"c": result}
    operations = problem.operations + product.m * product.n
    return replace(problem, buffers=buffers, operations=operations), product


def addends(
    rng: np.random.Generator, shape: tuple[int, ...], product: GemmProblem, data: str
) -> np.ndarray:
    """Return the initial C: values of the product's magnitude, or of all kinds."""
    dtype = dtype_of(product.c_format)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    if data == "integers":
        return rng.integers(-64, 64, shape, endpoint=True).astype(dtype)
    values = (rng.standard_normal(shape) * np.sqrt(product.k)).astype(dtype)
    if data == "extreme":
        chosen = rng.random(shape) < 1 / 4
        with np.errstate(over="ignore"):
            values[chosen] = rng.choice(EXTREMES.astype(dtype), np.count_nonzero(chosen))
        if dtype == np.float16:
            some = rng.random(shape) < 1 / 4
            values.view(np.uint16)[some] = rng.integers(0, 1 << 16, np.count_nonzero(some))
    return values
