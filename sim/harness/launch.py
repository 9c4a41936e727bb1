"""Programs of the clusters of a machine: where each begins, and where its arguments are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.errors import UserError
from ...hw.isa.memory_map import ARGUMENTS, ENTRY

__all__ = ["Launch", "launch_words", "require_launches", "require_registers"]


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Program of a cluster.

    Parameters
    ----------
    entry : int
        Address of its first instruction.
    arguments : int
        Address of its arguments, which the control register ``arguments`` shows.

    """

    entry: int = ENTRY
    arguments: int = ARGUMENTS


def require_launches(launches: Sequence[Launch], clusters: int) -> None:
    """Raise `UserError` unless there is a legal program for each of the first clusters."""
    if not 1 <= len(launches) <= clusters:
        raise UserError(f"launches must be from 1 to {clusters}, not {len(launches)}")
    for launch in launches:
        if launch.entry % 4 or not 0 <= launch.entry < 1 << 32:
            raise UserError(f"entry must be a 32-bit multiple of 4, not {launch.entry:#x}")
        if not 0 <= launch.arguments < 1 << 32:
            raise UserError(f"arguments must be a 32-bit address, not {launch.arguments:#x}")


def require_registers(launches: Sequence[Launch], clusters: int) -> None:
    """Raise `UserError` if the RTL has no registers for the programs of `launches`."""
    if clusters == 1 and any(launch != Launch() for launch in launches):
        raise UserError(
            f"with one cluster, entry must be {ENTRY:#x} and arguments {ARGUMENTS:#x}, as only "
            "several clusters have registers for them"
        )


def launch_words(launches: Sequence[Launch], clusters: int) -> np.ndarray:
    """Return `launches` as words of the C++ structure, one row for each cluster."""
    words = np.zeros((clusters, 3), np.uint32)
    for row, launch in zip(words, launches, strict=False):
        row[:] = launch.entry, launch.arguments, 1
    return words
