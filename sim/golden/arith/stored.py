"""Checks of the arguments of golden models: stored bits, modes and operations."""

from enum import IntEnum

import numpy as np

__all__ = ["require_members", "require_stored"]


def require_stored(
    name: str, values, width: int, shape: tuple[int | None, ...] | None = None
) -> np.ndarray:
    """Return `values` as an array; raise unless they are integers of `width` bits in that shape.

    None in `shape` stands for any length.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold stored bits as integers, not {array.dtype}")
    if shape is not None and not fits(array.shape, shape):
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({lengths}), not {array.shape}")
    if array.size:
        for value in (int(array.min()), int(array.max())):
            if not 0 <= value < 1 << width:
                raise ValueError(f"{name} must be stored bits of {width} bits, not {value:#x}")
    return array


def fits(shape: tuple[int, ...], lengths: tuple[int | None, ...]) -> bool:
    """Return whether a shape has these lengths; None stands for any."""
    return len(shape) == len(lengths) and all(
        length in (None, given) for given, length in zip(shape, lengths, strict=True)
    )


def require_members(name: str, values, members: type[IntEnum]) -> None:
    """Raise unless every one of `values` is the value of a member."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    known = [member.value for member in members]
    low, high = min(known), max(known)
    # All codes in between are members of nearly every enumeration, so two passes suffice.
    if not array.size or (
        len(known) == high - low + 1 and array.min() >= low and array.max() <= high
    ):
        return
    unknown = array[~np.isin(array, known)]
    if unknown.size:
        names = ", ".join(f"{member.value} ({member.name})" for member in members)
        raise ValueError(f"{name} must be one of {names}, not {unknown.flat[0]}")
