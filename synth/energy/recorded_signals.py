"""Signals of a block that a waveform's file has, whole or in parts."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...hw.emit.writer.recorded import Places

__all__ = ["PART", "Recorded"]

#: Between the name of a signal and the first bit of a part of it. A part that the file lacks, since
#: nothing depends on it, has its width behind it, and no rows.
PART = "\n"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Signals of a block to read.

    Parameters
    ----------
    names : collection of str
        Signals, by their path below the block's instance; those that the file lacks are left out.
    clock : str or None
        Clock of the block; None for a block without registers, which counts as clocked in every
        cycle.
    places : Places or None
        Pieces of each signal in the file, by its path; signals without pieces are left out. None if
        the file has all signals by their paths.

    """

    names: Collection[str]
    clock: str | None
    places: Places | None = None

    @cached_property
    def variables(self) -> Collection[str]:
        """Variables of the file that have the signals, by their path below the instance."""
        if self.places is None:
            return self.names
        needed = self.places.keys() & self.names
        return {path for name in needed for path, _, _ in self.places[name]}

    @cached_property
    def clock_variable(self) -> str | None:
        """Variable of the file that is the clock."""
        if self.places is None or self.clock is None:
            return self.clock
        pieces = self.places.get(self.clock, ())
        return pieces[0][0] if pieces else None

    def signals(self, variables: dict[str, NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
        """Return the signals, or parts of them, from the variables of the file that have them."""
        if self.places is None:
            return variables
        cycles = next((bits.shape[1] for bits in variables.values()), 0)
        signals = {}
        for name in self.places.keys() & self.names:
            pieces = self.places[name]
            if not all(path in variables for path, _, _ in pieces if path):
                continue
            begin = 0
            for path, first, width in pieces:
                key = f"{name}{PART}{begin}" if len(pieces) > 1 else name
                if path:
                    signals[key] = variables[path][first : first + width]
                else:
                    signals[f"{name}{PART}{begin}{PART}{width}"] = np.zeros((0, cycles), bool)
                begin += width
        return signals
