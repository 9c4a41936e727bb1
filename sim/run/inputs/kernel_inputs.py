"""Sizes and input arrays of a kernel from Python, checked against each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....kernels.kernel import Input, Kernel
from .arrays import ArrayError, as_elements, as_numbers, integer
from .own_programs import same_numbers

__all__ = ["inputs_of"]


def inputs_of(
    kernel: Kernel, given: Mapping[str, Any]
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays of a kernel from arguments by name.

    Sizes that are not given follow from the shapes of the arrays. Floats are rounded to FP32, words
    must be numbers of 32 bits. `ArrayError` for arguments that the kernel does not have, that are
    missing, or that do not fit each other.
    """
    arrays = {name: as_numbers(name, given[name]) for name in kernel.inputs if name in given}
    sizes = {name: value for name, value in given.items() if name not in arrays}
    inferred: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim != len(kernel.inputs[name].extents):
            raise ArrayError(
                f"{name} must have the shape {rule_of(kernel.inputs[name])}, not {array.shape}"
            )
        inferred = kernel.inputs[name].sizes_of(array.shape) | inferred
    sizes = inferred | sizes
    if set(sizes) != set(kernel.dimensions):
        needed, given_sizes = (", ".join(names) or "none" for names in (kernel.dimensions, sizes))
        hint = f"; its arrays are {', '.join(kernel.inputs)}" if kernel.inputs else ""
        raise ArrayError(f"sizes of {kernel.name} must be {needed}, not {given_sizes}{hint}")
    whole = {name: integer(f"{name} of {kernel.name}", sizes[name]) for name in kernel.dimensions}
    return whole, {name: fitting(name, kernel.inputs[name], whole, x) for name, x in arrays.items()}


def fitting(name: str, declared: Input, sizes: Mapping[str, int], array: np.ndarray) -> np.ndarray:
    """Return an array in the format of an input; raise `ArrayError` for another shape."""
    shape = declared.shape_of(sizes)
    if array.shape != shape:
        raise ArrayError(
            f"{name} must have the shape {rule_of(declared)} = {shape}, not {array.shape}"
        )
    if not array.size:
        raise ArrayError(f"{name} must have at least one element, not the shape {shape}")
    if declared.form == "uint32":
        return same_numbers(name, array, np.dtype(np.uint32))
    return np.array(as_elements(array, declared.form, name), order="C")


def rule_of(declared: Input) -> str:
    """Return the shape of an input by its dimensions, as in ``(rows, columns)``."""
    extents = declared.shape.split()
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"
