"""Golden numerics of the systolic array and its accumulator, independent of their structure.

A fused multiply-add is exact up to one rounding to FP32. If the product is exact in FP32, as for
two FP16 or 8-bit values, it is one FP32 addition, which NumPy rounds to nearest even. Otherwise
the sum is formed in float64, where a product of two FP32 values is exact. NaNs only propagate, so
making them canonical once at the end is equivalent to doing it every time.
"""

import numpy as np

from .....hw.config.formats import FORMATS, FP32, IntFormat
from .....kernels.elements import dtype_of
from ...arith.float.floats import decode, encode, sign_extend, sum_to_odd

__all__ = ["read_out", "systolic_os", "systolic_ws"]

#: Bytes of one block of partial sums: three such arrays fit a second-level cache.
BLOCK_BYTES = 128 * 1024
#: Bits of a float64 below the bit that decides its rounding to FP32.
BELOW_MIDDLE = np.int64((1 << 28) - 1)


def systolic_ws(a, b, rows: int, accumulator=None, *, operand: str = "fp16") -> np.ndarray:
    """Return the accumulator after a product on a weight-stationary array.

    Each k-slab of `rows` runs down a column as a chain of fused multiply-adds that starts from
    +0. Its sum is added to the accumulator; the first slab overwrites it. Elements beyond K enter
    as +0 on both sides, so a sum that underflowed to -0 becomes +0.

    Parameters
    ----------
    a, b : ndarray
        Operands, ``[M, K]`` and ``[K, N]``, as `kernels.elements` holds them.
    rows : int
        Elements of one column of the array.
    accumulator : ndarray or None
        Previous contents, in the accumulator's format, to which the first slab adds; None if it
        overwrites.
    operand : str
        Format of `a` and `b`.

    """
    return _multiply(a, b, accumulator, operand, rows, is_padded=True)


def systolic_os(a, b, depth: int, accumulator=None, *, operand: str = "fp16") -> np.ndarray:
    """Return the accumulator after a product on an output-stationary array.

    Like `systolic_ws`, but a chain is as long as the K extent of a command, `depth`, and ends with
    the last element of K.
    """
    return _multiply(a, b, accumulator, operand, depth, is_padded=False)


def read_out(accumulator, c_format: str, *, relu: bool = False, scale=None) -> np.ndarray:
    """Return the drained accumulator: scaled in FP32, rectified, rounded to `c_format`.

    `relu` turns every value with the sign bit set into +0; a NaN is canonical, hence positive,
    and unchanged.
    """
    form = FORMATS[c_format]
    if isinstance(form, IntFormat):
        return np.maximum(accumulator, np.int32(0)) if relu else accumulator.copy()
    with np.errstate(all="ignore"):
        value = accumulator if scale is None else accumulator * np.float32(scale)
        value = _canonical(np.array(value, dtype=np.float32))
        if relu:
            value = np.where(np.signbit(value), np.float32(0), value)
        if form == FP32:
            return value
        if dtype_of(c_format) == np.float16:  # NumPy rounds like `encode`, and faster
            result = value.astype(np.float16)
            result.view(np.uint16)[np.isnan(value)] = form.nan
            return result
        return encode(value.astype(np.float64), form).astype(dtype_of(c_format))


def _canonical(values: np.ndarray) -> np.ndarray:
    values.view(np.uint32)[np.isnan(values)] = FP32.nan
    return values


def _multiply(a, b, accumulator, operand: str, length: int, *, is_padded: bool) -> np.ndarray:
    """Multiply groups of rows of A that fit a cache, with chains of `length` elements."""
    form = FORMATS[operand]
    for name, matrix in (("a", a), ("b", b)):
        if matrix.dtype != dtype_of(operand):
            raise ValueError(
                f"{name} must be {dtype_of(operand)} for {operand}, not {matrix.dtype}"
            )
    a, b = (matrix.view(f"u{matrix.itemsize}") for matrix in (a, b))
    if isinstance(form, IntFormat):
        return _integer(sign_extend(a, form.width), sign_extend(b, form.width), accumulator)
    a, b = (decode(matrix, form).astype(np.float32) for matrix in (a, b))
    exact = _exact_products(a, b)
    result = np.empty((a.shape[0], b.shape[1]), dtype=np.float32)
    step = max(1, BLOCK_BYTES // (4 * b.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[0], step):
            part = slice(start, start + step)
            total = None if accumulator is None else accumulator[part].astype(np.float32)
            columns = np.ascontiguousarray(a[part].T)
            result[part] = _slabs(columns, b, exact, total, length, is_padded=is_padded)
    return _canonical(result)


def _integer(a, b, accumulator) -> np.ndarray:
    """Multiply integers modulo 2**32; the order of the sums is irrelevant."""
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    if accumulator is not None:
        exact += accumulator
    return exact.astype(np.uint32).view(np.int32)


def _exact_products(a, b) -> np.ndarray:
    """Return for each k whether all products of A's column k and B's row k are exact in FP32."""
    top_a, low_a, width_a = _extent(a, axis=0)
    top_b, low_b, width_b = _extent(b, axis=1)
    return (
        (width_a + width_b <= FP32.significand_width)
        & (top_a + top_b <= FP32.largest_exponent)
        & (low_a + low_b >= FP32.least_exponent)
    )


def _extent(values, axis: int):
    """Return top, low and width of the finite values along an axis.

    All are below ``2**top``, multiples of ``2**low``, and have significands of at most `width`
    bits; zeros are ignored.
    """
    counts = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(counts, values, 1).astype(np.float64))
    # Integer significand: its lowest set bit is where it ends.
    whole = np.abs(np.ldexp(fraction, FP32.significand_width)).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    width = FP32.significand_width - trailing
    # Ignored values are replaced by 1, 1 * 2**0, which does not limit the result.
    most, least = np.maximum.reduce, np.minimum.reduce
    return most(exponent, axis=axis), least(exponent - width, axis=axis), most(width, axis=axis)


def _chain(a_columns, b, exact) -> np.ndarray:
    """Fused multiply-adds over k, ascending, from +0."""
    total = np.zeros((a_columns.shape[1], b.shape[1]), dtype=np.float32)
    product = np.empty_like(total)
    for column, row, is_exact in zip(a_columns, b, exact, strict=True):
        if is_exact:
            np.multiply(column[:, None], row, out=product)
            np.add(total, product, out=total)
        else:
            _add_product(column.astype(np.float64)[:, None], row.astype(np.float64), total)
    return total


def _add_product(column, row, total):
    """Add ``column * row`` to `total` with one rounding.

    Rounding to float64 and then to FP32 differs from one rounding only if the first rounding ends
    halfway between two FP32 values, which shows in the bits below the middle. Those sums are
    rounded to odd first.
    """
    product = column * row
    wide = product + total
    doubtful = (wide.view(np.int64) & BELOW_MIDDLE) == 0
    if doubtful.any():
        where = np.nonzero(doubtful)
        wide[where] = sum_to_odd(product[where], total[where].astype(np.float64))
    total[...] = wide


def _slabs(a_columns, b, exact, total, length: int, *, is_padded: bool) -> np.ndarray:
    """Chains over `length` elements each, then added to the accumulator."""
    for start in range(0, len(b), length):
        part = slice(start, start + length)
        partial = _chain(a_columns[part], b[part], exact[part])
        if is_padded and start + length > len(b):
            partial += np.float32(0)
        total = partial if total is None else np.add(total, partial, out=total)
    return total
