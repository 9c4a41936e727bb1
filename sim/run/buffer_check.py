"""Check of a kernel's buffers: results within their bound, other buffers unchanged."""

import numpy as np

from ...hw.config.formats import FORMATS, FloatFormat
from ...kernels.elements import values_of
from ...kernels.kernel import Buffer
from .result_check import Check, compare, overflow_of

__all__ = ["check_buffer"]


def check_buffer(name: str, buffer: Buffer, contents: np.ndarray) -> Check:
    """Compare the final contents of a buffer, `contents`, with the expected contents, by `compare`.

    If the buffer specifies bits, the result must match these as well; where the bound is infinite,
    they alone decide about finite results and about those with an infinite reference or NaN. A
    buffer without expected values must keep its initial bits.
    """
    data, expected, bits, overflow = buffer.data, buffer.expected, buffer.bits, np.inf
    if expected is None:
        expected = bits = data
    elif expected.shape != data.shape:
        raise ValueError(
            f"expected values of {name} must have the shape of its data, {data.shape}, "
            f"not {expected.shape}"
        )
    unsigned = f"u{data.itemsize}"
    if data.dtype.kind == "f":
        largest = np.finfo(data.dtype).max
        overflow = float(largest) + (float(largest) - float(np.nextafter(largest, 0))) / 2
    values = contents.view(data.dtype).reshape(data.shape)
    if buffer.form is not None:
        kind = FORMATS[buffer.form]
        assert isinstance(kind, FloatFormat)
        values, overflow = values_of(values, buffer.form), overflow_of(kind)
    bound = np.broadcast_to(buffer.bound if buffer.expected is not None else 0.0, data.shape)
    values, expected, bound, got = (
        array[..., : buffer.columns]
        for array in (values, expected, bound, contents.view(unsigned).reshape(data.shape))
    )
    if bits is not None:
        bits = np.ascontiguousarray(bits).view(unsigned)[..., : buffer.columns]
    return compare(
        values,
        expected,
        got,
        bits,
        reference=expected,
        bound=bound,
        overflow=overflow,
        permits_overflow=buffer.permits_overflow,
        is_result=buffer.expected is not None,
        has_share=True,
    )
