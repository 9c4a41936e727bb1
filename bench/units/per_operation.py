"""Models of units with several operations."""

from collections.abc import Callable

import numpy as np

__all__ = ["per_operation"]


def per_operation(model: Callable, operation: np.ndarray, *arrays) -> dict[str, np.ndarray]:
    """Return results and flags of vectors with an operation each, as outputs `o` and `flags`.

    ``model(operation, *arrays)`` returns both for vectors with one operation.
    """
    stored, flags = np.zeros((2, len(operation)), np.uint32)
    for one in np.unique(operation):
        chosen = operation == one
        stored[chosen], flags[chosen] = model(one, *(array[chosen] for array in arrays))
    return {"o": stored, "flags": flags}
