"""Golden numerics of the systolic array and its accumulator, independent of their structure.

A product of two FP16 values has at most 22 significant bits and lies well inside FP32's range, so
it is exact in FP32; a fused multiply-add is then one FP32 addition, which NumPy rounds to nearest
even. NaNs only spread, so that making them canonical once at the end equals doing it every time.
"""

import numpy as np

__all__ = ["CANONICAL_NAN16", "CANONICAL_NAN32", "read_out", "systolic_os", "systolic_ws"]

CANONICAL_NAN16 = 0x7E00
CANONICAL_NAN32 = 0x7FC0_0000

#: Bytes of one block of partial sums: three such arrays stay in a second-level cache.
BLOCK_BYTES = 128 * 1024


def systolic_ws(a, b, rows: int, accumulator=None) -> np.ndarray:
    """Multiply on a weight-stationary array: what its accumulator holds afterwards.

    Each k-slab of `rows` runs down a column as a chain of fused multiply-adds that starts from
    +0; its sum is added to the accumulator, which the first slab overwrites. Elements beyond K
    enter as +0 on both sides.

    Parameters
    ----------
    a, b : ndarray
        Operands, ``[M, K]`` and ``[K, N]``, both float16 or both int8.
    rows : int
        Elements of one column of the array.
    accumulator : ndarray or None
        What the first slab adds to, in the accumulator's format; None if it overwrites.

    """
    if a.dtype == np.int8:
        return _integer(a, b, accumulator)
    return _by_blocks(a, b, accumulator, lambda a, b, total: _slabs(a, b, rows, total))


def systolic_os(a, b, accumulator=None) -> np.ndarray:
    """Multiply on an output-stationary array: one chain of multiply-adds over all k.

    The chain starts from `accumulator`, or from +0 where it is None. Operands as in `systolic_ws`.
    """
    if a.dtype == np.int8:
        return _integer(a, b, accumulator)
    return _by_blocks(a, b, accumulator, _chain)


def read_out(accumulator, c_format: str, *, relu: bool = False, scale=None) -> np.ndarray:
    """Return what leaves the accumulator: scaled in FP32, rectified, rounded to `c_format`.

    `relu` turns every value whose sign bit is set into +0; a NaN is canonical, hence positive,
    and stays.
    """
    if c_format == "int32":
        return np.maximum(accumulator, np.int32(0)) if relu else accumulator.copy()
    with np.errstate(all="ignore"):
        value = accumulator if scale is None else accumulator * np.float32(scale)
        value = _canonical(np.array(value, dtype=np.float32))
        if relu:
            value = np.where(np.signbit(value), np.float32(0), value)
        if c_format == "fp32":
            return value
        result = value.astype(np.float16)
    result.view(np.uint16)[np.isnan(value)] = CANONICAL_NAN16
    return result


def _canonical(values: np.ndarray) -> np.ndarray:
    values.view(np.uint32)[np.isnan(values)] = CANONICAL_NAN32
    return values


def _integer(a, b, accumulator) -> np.ndarray:
    """Multiply integers modulo 2**32; the order of the sums does not matter."""
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    if accumulator is not None:
        exact += accumulator
    return exact.astype(np.uint32).view(np.int32)


def _by_blocks(a, b, accumulator, multiply) -> np.ndarray:
    """Apply `multiply` to groups of rows of A, small enough for a cache."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    result = np.empty((a.shape[0], b.shape[1]), dtype=np.float32)
    step = max(1, BLOCK_BYTES // (4 * b.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[0], step):
            part = slice(start, start + step)
            total = None if accumulator is None else accumulator[part].astype(np.float32)
            result[part] = multiply(np.ascontiguousarray(a[part].T), b, total)
    return _canonical(result)


def _chain(a_columns, b, total) -> np.ndarray:
    """Fused multiply-adds over k, ascending, from `total` or from +0."""
    if total is None:
        total = np.zeros((a_columns.shape[1], b.shape[1]), dtype=np.float32)
    product = np.empty_like(total)
    for column, row in zip(a_columns, b, strict=True):
        np.multiply(column[:, None], row, out=product)
        np.add(total, product, out=total)
    return total


def _slabs(a_columns, b, rows, total) -> np.ndarray:
    """Chains over `rows` elements each, then added to the accumulator.

    A last slab of fewer elements needs no padding: a chain from +0 is never -0, so that adding
    +0 * +0 changes nothing.
    """
    for start in range(0, len(b), rows):
        part = slice(start, start + rows)
        partial = _chain(a_columns[part], b[part], None)
        total = partial if total is None else np.add(total, partial, out=total)
    return total
