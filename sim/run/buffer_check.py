"""Check of a kernel's buffers: results within their bound, other buffers unchanged."""

import numpy as np

from ...kernels.kernel import Buffer
from .result_check import Check, examples_of

__all__ = ["check_buffer"]


def check_buffer(name: str, buffer: Buffer, found: np.ndarray) -> Check:
    """Compare the final contents of a buffer, `found`, with the expected contents.

    A float may overflow to an infinity where the expected value, within its bound, does. Where the
    expected value is not finite, the result must be the same infinity or a NaN. If the buffer
    specifies bits, the result must match these as well. A buffer without expected values must keep
    its initial bits.
    """
    found = found.view(buffer.data.dtype).reshape(buffer.data.shape)
    unsigned = f"u{buffer.data.itemsize}"
    if buffer.expected is None:
        same = found.view(unsigned) == buffer.data.view(unsigned)
        return _result(found, buffer.data, np.zeros(1), same, None, buffer.data)
    if buffer.expected.shape != buffer.data.shape:
        raise ValueError(
            f"expected values of {name} must have the shape of its data, {buffer.data.shape}, "
            f"not {buffer.expected.shape}"
        )
    bound = np.broadcast_to(np.asarray(buffer.bound, dtype=np.float64), found.shape)
    if found.dtype.kind == "f":
        right = _close(found, buffer.expected, bound)
    else:
        # 64-bit integers hold the difference of any two 32-bit integers.
        difference = np.abs(found.astype(np.int64) - buffer.expected.astype(np.int64))
        right = difference <= bound
    same = None
    if buffer.bits is not None:
        same = found.view(unsigned) == np.ascontiguousarray(buffer.bits).view(unsigned)
    return _result(found, buffer.expected, bound, same, right, buffer.bits)


def _close(found: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return which floats lie within their bound."""
    with np.errstate(all="ignore"):
        value = found.astype(np.float64)
        same = (value == expected) | (np.isnan(value) & np.isnan(expected))
        # Smallest magnitude that rounds to infinity.
        largest = np.finfo(found.dtype).max
        overflow = float(largest) + (float(largest) - float(np.nextafter(largest, 0))) / 2
        may_overflow = np.isinf(value) & (np.abs(expected) + bound >= overflow)
        may_overflow &= np.signbit(value) == np.signbit(expected)
        # A NaN compares false, so it is wrong if the expected value is finite.
        near = np.isfinite(expected) & (np.abs(value - expected) <= bound)
    return same | may_overflow | near


def _result(
    found: np.ndarray,
    expected: np.ndarray,
    bound: np.ndarray,
    same: np.ndarray | None,
    near: np.ndarray | None,
    bits: np.ndarray | None,
) -> Check:
    """Return the check from the elements with equal bits, `same`, and within bounds, `near`."""
    bound = np.broadcast_to(bound, found.shape)
    with np.errstate(all="ignore"):
        value, wanted = found.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(value) & np.isfinite(wanted)
        error = np.where(finite, np.abs(value - wanted), 0.0)
        share = np.where(bound > 0, error / bound, 0.0)
    wrong = np.zeros(found.shape, dtype=bool)
    for right in (same, near):
        wrong |= False if right is None else ~right
    unsigned = f"u{found.itemsize}"
    return Check(
        elements=found.size,
        wrong=int(np.count_nonzero(wrong)),
        mismatches=None if same is None else int(np.count_nonzero(~same)),
        outside_bound=None if near is None else int(np.count_nonzero(~near)),
        max_abs_error=float(np.max(error, initial=0.0)),
        max_bound_share=float(np.max(share, initial=0.0)),
        is_result=near is not None,
        is_exact=same is not None,
        examples=examples_of(
            wrong,
            lambda at: expected[at],
            lambda at: found[at],
            bound,
            None if bits is None else np.ascontiguousarray(bits).view(unsigned),
            found.view(unsigned),
        ),
    )
