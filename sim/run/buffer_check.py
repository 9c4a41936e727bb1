"""Check of a kernel's buffers: results within their error bound, inputs unchanged."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...kernels.kernel import Buffer

__all__ = ["BufferCheck", "check_buffer"]

#: Wrong elements listed in full.
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class BufferCheck:
    """Result of comparing one buffer with its expected values.

    Parameters
    ----------
    name : str
    elements : int
        Elements compared.
    wrong : int
        Elements outside their bound, or changed elements of a read-only buffer.
    largest_error : float
        Largest absolute error among finite elements.
    largest_share : float
        Largest error as a fraction of its bound; 0 if the bound is 0.
    result : bool
        Whether the kernel writes the buffer.
    exact : bool
        Whether the buffer is compared bit by bit.
    examples : list of dict
        The first wrong elements: ``index``, ``expected``, ``got``, ``bound``.

    """

    name: str
    elements: int
    wrong: int
    largest_error: float
    largest_share: float
    result: bool
    exact: bool
    examples: list[dict[str, Any]] = field(default_factory=list)


def check_buffer(name: str, buffer: Buffer, found: np.ndarray) -> BufferCheck:
    """Compare the final contents of a buffer, `found`, with the expected contents.

    A float may overflow to an infinity if the expected value does within its bound. If the
    expected value is not finite, the result must be the same infinity or a NaN. If the buffer has
    `bits`, the result must match them as well.
    """
    found = found.view(buffer.data.dtype).reshape(buffer.data.shape)
    if buffer.expected is None:
        bits = f"u{buffer.data.itemsize}"
        same = found.view(bits) == buffer.data.view(bits)
        return _result(name, same, found, buffer.data, np.zeros(1), written=False)
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
    if buffer.bits is not None:
        unsigned = f"u{buffer.data.itemsize}"
        right &= found.view(unsigned) == np.ascontiguousarray(buffer.bits).view(unsigned)
    return _result(
        name, right, found, buffer.expected, bound, written=True, exact=buffer.bits is not None
    )


def _close(found: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return a mask of the floats that are within their bound."""
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
    name, right, found, expected, bound, *, written: bool, exact: bool = False
) -> BufferCheck:
    bound = np.broadcast_to(bound, found.shape)
    with np.errstate(all="ignore"):
        value, wanted = found.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(value) & np.isfinite(wanted)
        error = np.where(finite, np.abs(value - wanted), 0.0)
        share = np.where(bound > 0, error / bound, 0.0)
    wrong = np.argwhere(~right)
    return BufferCheck(
        name=name,
        elements=found.size,
        wrong=len(wrong),
        largest_error=float(np.max(error, initial=0.0)),
        largest_share=float(np.max(share, initial=0.0)),
        result=written,
        exact=exact,
        examples=[
            {
                "index": list(at),
                "expected": _plain(expected[at]),
                "got": _plain(found[at]),
                "bound": _plain(bound[at]),
            }
            for at in map(tuple, wrong[:SHOWN].tolist())
        ],
    )


def _plain(value) -> int | float | str:
    """Return an element for JSON; infinities and NaN, which JSON lacks, become strings."""
    number = value.item()
    return number if isinstance(number, int) or np.isfinite(number) else str(number)
