"""Problem of the Mandelbrot set: a view and the number of steps of each pixel."""

import numpy as np

from ...hw.config.checks import require_integer
from ..kernel import Buffer, Kernel, Problem

__all__ = ["KERNEL", "fused"]

LIMIT = 100
#: Width of a view in the complex plane; it holds most of the set.
WIDTH = 2.5


def pose(rng: np.random.Generator, *, w: int, h: int) -> Problem:
    """Return the problem of `w` by `h` pixels, a view near the set."""
    require_integer("w", w, 1, 8192)
    require_integer("h", h, 1, 8192)
    pitch = np.float32(2 * WIDTH / max(w, h))
    # Twice the first pixel's c. The centre of the view is near -0.7.
    left, top = np.array(
        [2 * rng.uniform(-0.8, -0.6) - w / 2 * pitch, 2 * rng.uniform(-0.1, 0.1) - h / 2 * pitch],
        np.float32,
    )
    counts, total = steps(w, h, left, top, pitch)
    return Problem(
        buffers={"counts": Buffer(data=np.zeros((h, w), np.uint32), expected=counts)},
        arguments=(w, h, LIMIT, float(left), float(top), float(pitch), "counts"),
        # Each step: three products (two of them squares), four sums and a comparison.
        operations=max(8 * total, 1),
    )


def steps(w: int, h: int, left, top, pitch) -> tuple[np.ndarray, int]:
    """Return each pixel's number of steps, and their sum.

    The numbers are discontinuous, so a bound around the set in float64 does not work. This model
    repeats the FP32 arithmetic of the kernel's source, operation by operation. All values are
    doubled, Z = 2 z and C = 2 c, with C = column * pitch + left and row * pitch + top, fused.
    A step, while |Z|**2 <= 16::

        difference = fma(re, re, -square)      where square = im * im of the step before
        im = fma(re, im, C.im)
        re = fma(difference, 0.5, C.re)
        square = im * im
        distance = fma(re, re, square)
    """
    row, column = (np.arange(size, dtype=np.float32) for size in (h, w))
    c_re = np.tile(fused(column, pitch, left), h)
    c_im = np.repeat(fused(row, pitch, top), w)
    counts = np.zeros(h * w, np.uint32)
    inside = np.arange(h * w)
    re = im = square = np.zeros(h * w, np.float32)
    for _ in range(LIMIT):
        counts[inside] += 1
        difference = fused(re, re, -square)
        im = fused(re, im, c_im)
        re = fused(difference, np.float32(0.5), c_re)
        square = im * im
        stays = fused(re, re, square) <= 16
        inside, re, im, square, c_re, c_im = (
            values[stays] for values in (inside, re, im, square, c_re, c_im)
        )
    return counts.reshape(h, w), int(counts.sum(dtype=np.int64))


def fused(a, b, c) -> np.ndarray:
    """Return ``a * b + c`` of FP32 values, rounded once, to nearest with ties to even.

    The product is exact in float64. Knuth's TwoSum gives the error of the sum, which sets the last
    bit of an inexact sum (rounding to odd). The 29 additional bits of float64 keep this bit from
    affecting the second rounding, so the result is that of a single rounding.
    """
    product = np.multiply(a, b, dtype=np.float64)
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    bits = np.atleast_1d(total).view(np.int64)
    towards_zero = (error != 0) & ((error < 0) != (total < 0))
    odd = (bits - towards_zero) | (error != 0)
    return odd.view(np.float64).astype(np.float32).reshape(np.shape(total))


KERNEL = Kernel(name="mandelbrot", dimensions=("w", "h"), usual=(32, 32), pose=pose)
