"""Own programs from Python: NumPy arrays and numbers as arguments, expected contents as check."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..hw.base.errors import UserError
from ..kernels.kernel import Buffer, Kernel, Problem
from ..sim.machine.memory_layout import ARGUMENTS_BYTES

__all__ = ["Arguments", "Expected", "own_kernel", "restored"]

Arguments = Mapping[str, Any] | Sequence[Any]
Expected = Mapping[str | int, Any]


def own_kernel(
    files: Sequence[str | Path],
    args: Arguments,
    expect: Expected,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Kernel:
    """Return a kernel without sizes: a program with its data and its check.

    Parameters
    ----------
    files : sequence of path
        Files of the program.
    args : mapping or sequence
        Words of its arguments in order, by name; those of a sequence are named by their places. An
        array stands for the address of a buffer with its contents, a number for itself.
    expect : mapping
        Contents of buffers at the end, by name or place. Other buffers are not checked.
    rtol, atol : float
        Largest deviation of a float: `atol`, and `rtol` times the expected magnitude. Integers are
        exact.

    """
    values = named(args)
    if 4 * len(values) > ARGUMENTS_BYTES:
        raise UserError(f"args must be at most {ARGUMENTS_BYTES // 4} words, not {len(values)}")
    arrays = {
        name: stored(name, value)
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.ndim
    }
    wanted = {name_of(key, [*values], arrays): value for key, value in expect.items()}
    buffers = {
        name: buffer_of(name, array, wanted.get(name), rtol, atol) for name, array in arrays.items()
    }
    words = (name if name in arrays else number(name, value) for name, value in values.items())
    problem = Problem(buffers=buffers, arguments=tuple(words), operations=0)
    paths = tuple(Path(file) for file in files)
    return Kernel(name=paths[0].name, dimensions=(), pose=lambda _: problem, files=paths)


def named(args: Arguments) -> dict[str, Any]:
    """Return the arguments by name, those of a sequence by their places."""
    if isinstance(args, Mapping):
        return dict(args)
    return {str(place): value for place, value in enumerate(args)}


def restored(args: Arguments, buffers: dict[str, np.ndarray]) -> None:
    """Give the final contents the types of the arrays that were given."""
    for name, value in named(args).items():
        if name in buffers:
            buffers[name] = buffers[name].view(value.dtype)


def name_of(key: str | int, names: Sequence[str], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the name of an array that `expect` names by its name or its place."""
    name = names[key] if isinstance(key, int) and 0 <= key < len(names) else str(key)
    if name not in arrays:
        known = ", ".join(arrays) or "none"
        raise UserError(f"expect must name arrays of args, which are {known}, not {key!r}")
    return name


def stored(name: str, array: np.ndarray) -> np.ndarray:
    """Return an array as it is placed in DRAM."""
    if array.dtype.itemsize not in (1, 2, 4) or array.dtype.kind not in "fiubV":
        raise UserError(
            f"elements of args {name} must be numbers of 8, 16 or 32 bits, not {array.dtype}: "
            "convert them, for example by .astype(numpy.float32)"
        )
    if not array.size:
        raise UserError(f"args {name} must have at least one element")
    return np.ascontiguousarray(array)


def buffer_of(name: str, array: np.ndarray, expected: Any, rtol: float, atol: float) -> Buffer:
    """Return the buffer of an array with its check."""
    data = array if array.dtype.kind in "fiu" else array.view(f"u{array.itemsize}")
    if expected is None:
        return Buffer(data=data, is_checked=False)
    wanted = np.asarray(expected)
    if wanted.shape != array.shape:
        raise UserError(
            f"expect {name} must have the shape of its array, {array.shape}, not {wanted.shape}"
        )
    if data.dtype.kind == "f":
        values = wanted.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return Buffer(data=data, expected=values, bound=atol + rtol * np.abs(values))
    wanted = np.ascontiguousarray(wanted.astype(array.dtype)).view(data.dtype)
    return Buffer(data=data, expected=wanted)


def number(name: str, value: Any) -> int | float:
    """Return the number of an argument; raise `UserError` if it is none that fits a word."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, float):
        return value
    if not isinstance(value, int):
        raise UserError(f"args {name} must be an array or a number, not {type(value).__name__}")
    if not -(1 << 31) <= value < 1 << 32:
        raise UserError(f"args {name} must fit 32 bits, not {value}")
    return int(value)
