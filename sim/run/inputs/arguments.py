"""Arguments of programs and kernels from the command line: numbers, and arrays of NumPy files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....base.errors import UserError
from ....kernels.kernel import Kernel
from ..dumps import DUMP_SUFFIX
from .kernel_inputs import inputs_of
from .own_programs import own_kernel

__all__ = ["inputs_with", "kernel_with"]


def kernel_with(files: Sequence[str | Path], arguments: Sequence[str]) -> Kernel:
    """Return the kernel of a program with these values of ``--arg``, as `Machine.run` does."""
    values = [parsed(text) for text in arguments]
    try:
        return own_kernel(files, values, {})
    except UserError as error:
        raise UserError(str(error).replace("args ", "--arg ", 1)) from None


def inputs_with(
    kernel: Kernel, arguments: Sequence[str], sizes: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays of a kernel with these values of ``--arg``, as `Machine.run` does."""
    values: dict[str, Any] = {}
    for text in arguments:
        name, _, value = text.partition("=")
        if name not in kernel.inputs or name in values:
            known = ", ".join(kernel.inputs) or "none"
            raise UserError(
                f"--arg must be ARRAY=FILE{DUMP_SUFFIX}, once for an array of {kernel.name}, which "
                f"are {known}, not {text!r}"
            )
        values[name] = parsed(value)
    return inputs_of(kernel, {**sizes, **values})


def parsed(text: str) -> Any:
    """Return the number, or the array in the file, that an argument names."""
    if text.endswith(DUMP_SUFFIX):
        return loaded(Path(text))
    for kind in (lambda: int(text, 0), lambda: float(text)):
        try:
            return kind()
        except ValueError:
            continue
    raise UserError(f"--arg must be a number or a file FILE{DUMP_SUFFIX}, not {text!r}")


def loaded(path: Path) -> np.ndarray:
    """Return the array in a file of NumPy; raise `UserError` if it has none."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"--arg {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, SyntaxError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is damaged"
        raise UserError(f"--arg {path} must be an array of NumPy: {reason}") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"--arg {path} must be one array of NumPy, not an archive of several")
    return array
