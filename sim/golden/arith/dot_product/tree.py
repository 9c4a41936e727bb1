"""Golden dot products of the trees: round products, sum in pairs, then add c.

A result is defined by three steps, with every rounding to nearest, ties to even:

1. each product is rounded once to the tree's format: FP16 for ``virgo_hmma``, FP32 for
   ``fp32_rne``;
2. neighbours are added, 0 + 1, 2 + 3, ..., each sum rounded; then neighbours of the sums, until
   one is left;
3. that sum, exact in FP32, is added to c and rounded to FP32.
"""

import numpy as np

from .....hw.arith.dot_product.config import DotProductConfig
from .....hw.arith.dot_product.tree import TREE_FORMATS
from .....hw.config.formats import FP32, FloatFormat
from ..float import floats
from ..stored import require_stored

__all__ = ["tree_dot_product", "tree_sum"]


def tree_dot_product(config: DotProductConfig, a, b, c) -> np.ndarray:
    """Return ``a . b + c`` as stored bits, from stored bits.

    Parameters
    ----------
    config : DotProductConfig
        Its numerics are one of `TREE_FORMATS`.
    a, b : arrays of stored bits
        One row of `config.terms` factors per result.
    c : array of stored bits
        One addend per result.

    """
    a, b, c = require_operands(config, a, b, c)
    form = TREE_FORMATS[config.numerics]
    with np.errstate(invalid="ignore"):
        # Exact in float64.
        products = floats.decode(a, config.a_format) * floats.decode(b, config.b_format)
    total = tree_sum(floats.encode(products, form), form)
    return floats.add(floats.convert(total, form, FP32), c, FP32)


def require_operands(config: DotProductConfig, a, b, c) -> tuple[np.ndarray, ...]:
    """Return operands as integers; raise unless shapes and widths are those of `config`."""
    a, b = (
        require_stored(name, np.atleast_2d(x), form.width, (None, config.terms))
        for name, x, form in (("a", a, config.a_format), ("b", b, config.b_format))
    )
    if len(b) != len(a):
        raise ValueError(f"b must have as many rows as a, {len(a)}, not {len(b)}")
    c = require_stored("c", np.atleast_1d(c), config.addend_format.width, (len(a),))
    return a.astype(np.int64), b.astype(np.int64), c.astype(np.int64)


def tree_sum(stored: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return each row's sum as stored bits: neighbours first, every sum rounded."""
    while stored.shape[1] > 1:
        stored = floats.add(stored[:, 0::2], stored[:, 1::2], form)
    return stored[:, 0]
