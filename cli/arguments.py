"""Arguments of an own program from the command line: numbers, and arrays from files of NumPy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..api.own_programs import own_kernel
from ..hw.base.errors import UserError
from ..kernels.kernel import Kernel
from .files import DUMP_SUFFIX

__all__ = ["kernel_with"]


def kernel_with(files: Sequence[str], arguments: Sequence[str]) -> Kernel:
    """Return the kernel of a program with these values of ``--arg``, as `Machine.run` does."""
    values = [parsed(text) for text in arguments]
    try:
        return own_kernel(files, values, {})
    except UserError as error:
        raise UserError(str(error).replace("args ", "--arg ", 1)) from None


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
        found = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"--arg {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, SyntaxError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is damaged"
        raise UserError(f"--arg {path} must be an array of NumPy: {reason}") from None
    if not isinstance(found, np.ndarray):
        raise UserError(f"--arg {path} must be one array of NumPy, not an archive of several")
    return found
