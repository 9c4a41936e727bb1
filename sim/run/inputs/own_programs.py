"""Own programs from Python: NumPy arrays and numbers as arguments, expected contents as check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import UserError
from ....kernels.elements import NATIVE, values_of
from ....kernels.kernel import Buffer, Kernel, Problem
from ...machine.memory_layout import ARGUMENTS_BYTES
from .arrays import (
    SHOWN,
    ArrayError,
    as_elements,
    as_numbers,
    float_form,
    is_number_type,
    range_of,
)

__all__ = ["Arguments", "Expected", "Unwritten", "named", "own_kernel", "restored", "same_numbers"]

Arguments = Mapping[str, Any] | Sequence[Any]
Expected = Mapping[str | int, Any]


@dataclass(frozen=True)
class Unwritten:
    """Array of `args` that the host does not write: a program must not read it first.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
        Type of NumPy or `ml_dtypes` with 8, 16 or 32 bits.

    """

    shape: int | tuple[int, ...]
    dtype: Any = np.float32

    @property
    def array(self) -> np.ndarray:
        """An array of zeros in its place."""
        return np.zeros(self.shape, self.dtype)


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
        array stands for the address of a buffer with its contents, `Unwritten` for that of one
        without, a number for itself.
    expect : mapping
        Contents of buffers at the end, by name or place. Other buffers are not checked.
    rtol, atol : float
        Largest deviation of a float: `atol`, and `rtol` times the expected magnitude. Integers are
        exact.

    """
    unwritten = {name for name, value in named(args).items() if isinstance(value, Unwritten)}
    values = arrays_of(args)
    if 4 * len(values) > ARGUMENTS_BYTES:
        raise UserError(f"args must be at most {ARGUMENTS_BYTES // 4} words, not {len(values)}")
    arrays = {
        name: stored(name, value)
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.ndim
    }
    if not isinstance(expect, Mapping):
        raise ArrayError(f"expect must be a mapping from arrays of args, not {expect!r}")
    rtol, atol = tolerance("rtol", rtol), tolerance("atol", atol)
    contents = {name_of(key, [*values], arrays): value for key, value in expect.items()}
    buffers = {
        name: replace(
            buffer_of(name, array, contents.get(name), rtol, atol), is_written=name not in unwritten
        )
        for name, array in arrays.items()
    }
    words = (name if name in arrays else number(name, value) for name, value in values.items())
    problem = Problem(buffers=buffers, arguments=tuple(words), operations=0)
    paths = tuple(Path(file) for file in files)
    return Kernel(name=paths[0].name, dimensions=(), pose=lambda _: problem, files=paths)


def named(args: Arguments) -> dict[str, Any]:
    """Return the arguments by name, those of a sequence by their places."""
    if isinstance(args, Mapping):
        if strange := [name for name in args if not isinstance(name, str)]:
            raise UserError(f"names of args must be text, not {strange[0]!r}; or give a sequence")
        return dict(args)
    if isinstance(args, str) or not isinstance(args, Sequence | np.ndarray):
        raise ArrayError(f"args must be a mapping or a sequence, not {type(args).__name__}")
    return {str(place): value for place, value in enumerate(args)}


def arrays_of(args: Arguments) -> dict[str, Any]:
    """Return the arguments by name, with arrays for those that the host does not write."""
    return {
        name: value.array if isinstance(value, Unwritten) else value
        for name, value in named(args).items()
    }


def restored(args: Arguments, buffers: dict[str, np.ndarray]) -> None:
    """Give the final contents the types of the arrays that were given."""
    for name, value in arrays_of(args).items():
        if name in buffers:
            native = value.dtype.newbyteorder("=")
            buffers[name] = buffers[name].view(native).astype(value.dtype, copy=False)


def name_of(key: str | int, names: Sequence[str], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the name of an array that `expect` names by its name or its place."""
    name = names[key] if isinstance(key, int) and 0 <= key < len(names) else str(key)
    if name not in arrays:
        known = ", ".join(arrays) or "none"
        raise UserError(f"expect must name arrays of args, which are {known}, not {key!r}")
    return name


def stored(name: str, array: np.ndarray) -> np.ndarray:
    """Return an array as it is placed in DRAM."""
    if not is_number_type(array.dtype) or array.dtype.itemsize not in (1, 2, 4):
        narrower = "int32" if array.dtype.kind in "iu" else "float32"
        raise ArrayError(
            f"elements of args {name} must be numbers of 8, 16 or 32 bits, not {array.dtype}: "
            f"convert them, for example by .astype(numpy.{narrower})"
        )
    if not array.size:
        raise ArrayError(f"args {name} must have at least one element")
    return np.ascontiguousarray(as_numbers(f"args {name}", array))


def buffer_of(name: str, array: np.ndarray, expected: Any, rtol: float, atol: float) -> Buffer:
    """Return the buffer of an array with its check; `expected` is rounded to the array's type."""
    is_known = array.dtype.kind in "fiu" and array.dtype.isbuiltin != 2
    data = array if is_known else array.view(f"u{array.itemsize}")
    if expected is None:
        return Buffer(data=data, is_checked=False)
    what = f"expect {name}"
    contents = as_numbers(what, expected)
    if contents.shape != array.shape:
        raise ArrayError(
            f"{what} must have the shape of its array, {array.shape}, not {contents.shape}"
        )
    form = float_form(array.dtype)
    if form is None:
        return Buffer(
            data=data, expected=same_numbers(what, contents, array.dtype).view(data.dtype)
        )
    values = values_of(as_elements(contents, form, what), form)
    with np.errstate(invalid="ignore"):
        bound = atol + rtol * np.abs(values)
    return Buffer(data=data, expected=values, bound=bound, form=None if form in NATIVE else form)


def same_numbers(name: str, values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the same numbers in a type that has no bounds; raise `ArrayError` for others."""
    with np.errstate(all="ignore"):
        numbers = np.ascontiguousarray(values.astype(dtype))
        is_same = numbers.astype(values.dtype) == values
        if values.dtype.kind in "iu" and dtype.kind in "iu":
            is_same &= (numbers < 0) == (values < 0)
    lost = np.argwhere(~is_same)
    if len(lost):
        shown = ", ".join(f"{values[tuple(at)]} at {at}" for at in lost[:SHOWN].tolist())
        raise ArrayError(
            f"{len(lost):,} of {values.size:,} values of {name} are not numbers of type {dtype}: "
            f"{shown}; give values that it holds"
        )
    return numbers


def number(name: str, value: Any) -> int | float:
    """Return the number of an argument; raise `ArrayError` if it is none that fits a word."""
    if isinstance(value, np.generic | np.ndarray):
        value = as_numbers(f"args {name}", value).item()
    if isinstance(value, float):
        limits = range_of("fp32")
        if not limits.holds(np.array(value)):
            raise ArrayError(f"args {name} must be in the range of {limits}, not {value}")
        return value
    if not isinstance(value, int):
        raise ArrayError(f"args {name} must be an array or a number, not {type(value).__name__}")
    if not -(1 << 31) <= value < 1 << 32:
        raise ArrayError(f"args {name} must fit 32 bits, not {value}")
    return int(value)


def tolerance(name: str, value: Any) -> float:
    """Return `rtol` or `atol`; raise `ArrayError` unless it is finite and not negative."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    is_number &= not isinstance(value, bool)
    if not is_number or not 0 <= value < np.inf:
        raise ArrayError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return float(value)
