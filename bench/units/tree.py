"""Dot products by trees of ordinary additions, with NumPy's own types as their oracle."""

import numpy as np

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config.formats import BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, TF32, FloatFormat
from spica.sim.golden.arith.dot_product.tree import tree_dot_product
from spica.sim.golden.arith.float.floats import corners

from .dot_product import dot_unit
from .operands.floats import multiply_operands, opposite, random_bits
from .unit import Unit

__all__ = ["CONFIGS", "numpy_tree", "tree_operands", "units"]

#: Numerics, formats of a and b, terms.
TREES = (
    *(("virgo_hmma", "fp16", "fp16", terms) for terms in (4, 8, 16)),
    *(("fp32_rne", "fp16", "fp16", terms) for terms in (4, 16)),
    ("fp32_rne", "bf16", "bf16", 8),
    ("fp32_rne", "tf32", "tf32", 4),
    *(("fp32_rne", "fp32", "fp32", terms) for terms in (2, 4)),
    ("fp32_rne", "fp8_e4m3", "fp8_e4m3", 16),
    ("fp32_rne", "fp8_e5m2", "fp8_e4m3", 8),
)


def unit_name(numerics: str, a: str, b: str, terms: int) -> str:
    """Return the name of a tree."""
    formats = a if a == b else f"{a}_{b}"
    return f"dot_{numerics}_{formats}_{terms}"


#: Tested trees by name.
CONFIGS = {
    unit_name(numerics, a, b, terms): DotProductConfig(terms=terms, numerics=numerics, a=a, b=b)
    for numerics, a, b, terms in TREES
}


def units() -> list[Unit]:
    """Return all trees."""
    return [
        dot_unit(
            name,
            config,
            operands=tree_operands,
            oracle="NumPy" if config.a_format.width > 8 else "NumPy, ml_dtypes",
            reference=numpy_tree,
        )
        for name, config in CONFIGS.items()
    ]


def numpy_tree(config: DotProductConfig, a, b, c) -> dict[str, np.ndarray]:
    """Return the same dot products in NumPy's float16 and float32 arithmetic."""
    dtype = np.float16 if config.numerics == "virgo_hmma" else np.float32
    with np.errstate(all="ignore"):
        left, right = (
            as_float(stored, form).astype(dtype)
            for stored, form in ((a, config.a_format), (b, config.b_format))
        )
        total = left * right
        while total.shape[1] > 1:
            total = total[:, 0::2] + total[:, 1::2]
        result = total[:, 0].astype(np.float32) + as_float(c, FP32)
    return {"o": np.where(np.isnan(result), np.uint32(FP32.nan), result.view(np.uint32))}


def as_float(stored, form: FloatFormat) -> np.ndarray:
    """Return stored values as an array of the smallest NumPy type that holds them."""
    stored = np.ascontiguousarray(stored)
    if form == FP16:
        return stored.astype(np.uint16).view(np.float16)
    if form in (FP32, BF16, TF32):
        return (stored.astype(np.uint32) << (32 - form.width)).view(np.float32)
    import ml_dtypes

    types = {FP8_E4M3: ml_dtypes.float8_e4m3fn, FP8_E5M2: ml_dtypes.float8_e5m2}
    return stored.astype(np.uint8).view(types[form]).astype(np.float32)


def tree_operands(
    config: DotProductConfig, rng: np.random.Generator, count: int
) -> dict[str, np.ndarray]:
    """Return stimulus for trees, a fifth of each kind.

    Random bits; exponents in a random window per vector; products at the range ends of their
    format; blocks whose second half is the negative of the first, except for last bits; borders
    of classes. Infinity and NaN are rare except in the last kind, as they would hide the sums.
    Half of the addends nearly cancel the products.
    """
    shape = (count, config.terms)
    a_form, b_form = config.a_format, config.b_format
    kind = rng.integers(0, 5, (count, 1))
    a, b = (any_bits(rng, form, shape) for form in (a_form, b_form))
    # Most vectors are below 2, as long FP16 sums would all overflow otherwise.
    is_small = rng.random((count, 1)) < 0.7
    a, b = (
        np.where(is_small, lowered(x, form), finite(rng, x, form))
        for x, form in ((a, a_form), (b, b_form))
    )
    centre = rng.integers(0, 1 << a_form.exponent_width, (count, 1))
    is_window = (kind == 1) | (kind == 3)
    a = np.where(is_window, windowed(rng, a, a_form, centre), a)
    b = np.where(is_window, windowed(rng, b, b_form, b_form.bias - 6), b)
    if a_form == b_form and a_form.has_infinity:
        edges = (x.reshape(shape) for x in multiply_operands(rng, count * config.terms, a_form))
        a, b = (
            np.where(kind == 2, finite(rng, edge, a_form), x)
            for edge, x in zip(edges, (a, b), strict=True)
        )
    a, b = cancelled(rng, kind == 3, a, b, a_form)
    for form, x in ((a_form, a), (b_form, b)):
        is_corner = (kind == 4) & (rng.random(shape) < 2 / config.terms)
        x[is_corner] = rng.choice(corners(form), int(is_corner.sum()))
    c = finite(rng, random_bits(rng, FP32, count), FP32)
    total = tree_dot_product(config, a, b, np.zeros(count, np.uint32))
    c = np.where(rng.random(count) < 0.5, opposite(rng, total, FP32), c)
    return {"a": a, "b": b, "c": np.where(rng.random(count) < 0.1, 0, c).astype(np.uint32)}


def any_bits(rng: np.random.Generator, form: FloatFormat, shape) -> np.ndarray:
    """Return uniform random bits."""
    return rng.integers(0, 1 << form.width, shape, dtype=np.uint32)


def finite(rng: np.random.Generator, values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `values` with the exponents of most infinities and NaN lowered."""
    magnitude = values & np.uint32(form.magnitude_mask)
    is_lowered = (magnitude > form.largest) & (rng.random(values.shape) < 0.98)
    return np.where(is_lowered, lowered(values, form), values)


def lowered(values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return `values` without the top bit of the exponent: numbers below 2."""
    return values & ~np.uint32(1 << (form.magnitude_width - 1))


def windowed(rng: np.random.Generator, values: np.ndarray, form: FloatFormat, centre) -> np.ndarray:
    """Return `values` with exponents near `centre`, at most that of the largest number."""
    width = rng.choice([1, 2, 4, 12, 25], (len(values), 1))
    exponent = np.clip(centre + rng.integers(0, width, values.shape), 0, form.exponent_mask - 1)
    without_exponent = values & ~np.uint32(form.exponent_mask << form.fraction_width)
    return (without_exponent | exponent << form.fraction_width).astype(np.uint32)


def cancelled(rng: np.random.Generator, where, a, b, form: FloatFormat):
    """Return `a` and `b` with a block whose second half is the negative of the first."""
    terms = a.shape[1]
    half = 1 << rng.integers(0, (terms - 1).bit_length(), (len(a), 1))
    index = np.arange(terms)
    is_later = where & (index // half % 2 == 1) & (rng.random((len(a), 1)) < 0.8)
    source = np.where(is_later, index - half, index)
    a, b = (np.take_along_axis(x, source, axis=1) for x in (a, b))
    moved = rng.integers(0, 2, a.shape) * (rng.random((len(a), 1)) < 0.5)
    a = np.where(is_later, a ^ moved ^ (1 << form.magnitude_width), a).astype(np.uint32)
    return a, b
