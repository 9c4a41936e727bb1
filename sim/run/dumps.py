"""Contents of memory after a run: ranges of DRAM beside the buffers of a kernel."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import UserError
from ...hw.isa.memory_map import DRAM_BASE, DRAM_END

if TYPE_CHECKING:  # commands without a run import this module too
    from .program_executor import ProgramExecutor

__all__ = ["DUMP_SUFFIX", "dumped", "parsed_range", "require_dumps"]

#: Suffix of arrays of NumPy, contents of buffers and of DRAM.
DUMP_SUFFIX = ".npy"


def require_dumps(dumps: Iterable[str], buffers: Iterable[str]) -> None:
    """Raise `UserError` unless each dump is a buffer or a range of DRAM."""
    names = list(buffers)
    for dump in dumps:
        if dump in names:
            continue
        if ":" not in dump:
            known = f"one of the buffers {', '.join(names)}, or " if names else ""
            raise UserError(f"a dump must be {known}address:bytes, not {dump!r}")
        parsed_range("a dump", dump)


def parsed_range(what: str, text: str) -> tuple[int, int]:
    """Return address and size in bytes of a range of DRAM; messages begin with `what` it is for."""
    try:
        address, nbytes = (int(part, 0) for part in text.split(":"))
    except ValueError:
        raise UserError(f"{what} must be address:bytes, not {text!r}") from None
    if not DRAM_BASE <= address < address + nbytes <= DRAM_END:
        raise UserError(f"{what} must lie within {DRAM_BASE:#x} to {DRAM_END:#x}, not {text}")
    return address, nbytes


def dumped(executor: "ProgramExecutor", dumps: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the contents of each range of DRAM among the dumps: bytes, or whole words."""
    contents = {}
    for dump in dumps:
        if ":" in dump:
            address, nbytes = parsed_range("a dump", dump)
            data = np.asarray(executor.read(address, nbytes))
            contents[dump] = data if (address | nbytes) % 4 else data.view(np.uint32)
    return contents
