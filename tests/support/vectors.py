"""Comparison of arrays of results, by vector."""

import numpy as np

__all__ = ["require_equal"]

#: Wrong vectors in a message.
SHOWN = 5


def hexadecimal(value) -> str:
    """Return an integer, or the integers of an array, in hexadecimal."""
    value = np.asarray(value)
    return f"[{', '.join(map(hexadecimal, value))}]" if value.ndim else f"{int(value):#x}"


def require_equal(results, expected, **inputs) -> None:
    """Fail with the first vectors that have a wrong result, and their inputs."""
    wrong = np.nonzero(np.asarray(results) != np.asarray(expected))[0]
    shown = [
        ", ".join(f"{name} {hexadecimal(values[k])}" for name, values in inputs.items())
        + f": found {hexadecimal(results[k])}, expected {hexadecimal(expected[k])}"
        for k in wrong[:SHOWN]
    ]
    assert not shown, f"{len(wrong)} of {len(expected)} wrong: " + "; ".join(shown)
