"""Problem of the 3 x 3 convolution: image, weights and expected result."""

import numpy as np

from ...hw.config.checks import require_integer
from ..floats import chain_bound, normal
from ..kernel import Buffer, Input, Kernel, Problem

__all__ = ["KERNEL"]


def pose(rng: np.random.Generator, *, h: int, w: int, **given: np.ndarray) -> Problem:
    """Return the problem of filtering `h` rows of `w` pixels."""
    require_integer("h", h, 1, 8192)
    require_integer("w", w, 1, 8192)
    image = given.get("image", normal(rng, h, w))
    weights = given.get("weights", normal(rng, 3, 3))
    # Nine products, summed by fused multiply-adds: a term passes at most 9 roundings.
    bound = chain_bound(9, filtered(np.abs(image), np.abs(weights)))
    result = Buffer(
        data=np.full((h, w), np.nan, np.float32), expected=filtered(image, weights), bound=bound
    )
    return Problem(
        buffers={"image": Buffer(data=image), "weights": Buffer(data=weights), "result": result},
        arguments=(h, w, "image", "weights", "result"),
        # The middle row of the filter overlaps h rows of the image, the other two h - 1 each.
        operations=2 * (3 * h - 2) * (3 * w - 2),
    )


def filtered(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return, in float64, each pixel's neighbourhood summed with `weights`."""
    h, w = image.shape
    padded = np.pad(image.astype(np.float64), 1)
    result = np.zeros((h, w))
    for row in range(3):
        for column in range(3):
            result += np.float64(weights[row, column]) * padded[row : row + h, column : column + w]
    return result


KERNEL = Kernel(
    name="conv2d",
    dimensions=("h", "w"),
    usual=(64, 64),
    pose=pose,
    inputs={"image": Input("h w"), "weights": Input("3 3")},
)
