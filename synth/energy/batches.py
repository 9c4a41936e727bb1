"""Batches of windows: rows of an evaluation, and the standard error of a mean over them."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .evaluator import WORD

__all__ = ["BatchSums", "Layout", "layout_of", "standard_error"]

#: Fewest batches whose spread says anything.
LEAST = 8


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Order in which the cycles of windows are evaluated.

    A batch is the windows that fit into one word, or one longer window. Each batch begins a word,
    so that sums over words are sums over batches.

    Parameters
    ----------
    rows : array of int
        Cycle of each row: those of the windows, each after the cycle before it. Repetitions of the
        last cycle fill up the last word of a batch.
    window : array of int
        Number of the window of each row.
    is_first, is_last, is_fill : array of bool
        For each row, whether it is the cycle before a window, its last cycle, or a repetition.
    batch : array of int
        Number of the batch of each word.

    """

    rows: NDArray[np.int64]
    window: NDArray[np.int64]
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]
    is_fill: NDArray[np.bool_]
    batch: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class BatchSums:
    """Sums over the cycles of each batch that count.

    Parameters
    ----------
    energy : array of float
        Energy without leakage in pJ.
    clocked_cycles, cycles : array of float
        Cycles with a clock edge, and all.

    """

    energy: NDArray[np.float64]
    clocked_cycles: NDArray[np.float64]
    cycles: NDArray[np.float64]

    def __add__(self, other: "BatchSums") -> "BatchSums":
        return BatchSums(
            energy=self.energy + other.energy,
            clocked_cycles=self.clocked_cycles + other.clocked_cycles,
            cycles=self.cycles + other.cycles,
        )

    def errors(self, is_clocked: bool) -> NDArray[np.float64]:
        """Return for each batch how far the sum of energies would move if all were like it, in pJ.

        A batch is compared with the mean energy of its clocked cycles, or of all its cycles.
        """
        extent = self.clocked_cycles if is_clocked else self.cycles
        mean = self.energy.sum() / (extent.sum() or 1)
        return len(extent) * (self.energy - mean * extent)


@functools.lru_cache(maxsize=8)
def layout_of(windows: tuple[range, ...]) -> Layout:
    """Return the layout of one or more windows, in their order."""
    lengths = [len(window) + 1 for window in windows]
    batches = -(-len(windows) // max(1, WORD // max(lengths)))
    bounds = [k * len(windows) // batches for k in range(batches + 1)]
    columns: list[list[int]] = [[], [], [], [], []]
    batch: list[int] = []
    for number, first in enumerate(bounds[:-1]):
        own = [
            (cycle, k, cycle == windows[k].start - 1, cycle == windows[k][-1], False)
            for k in range(first, bounds[number + 1])
            for cycle in range(windows[k].start - 1, windows[k].stop)
        ]
        cycle, k, *_ = own[-1]
        own += [(cycle, k, False, False, True)] * (-len(own) % WORD)
        batch += [number] * (len(own) // WORD)
        for column, values in zip(columns, zip(*own, strict=True), strict=True):
            column += values
    rows, window, is_first, is_last, is_fill = columns
    return Layout(
        rows=np.array(rows, np.int64),
        window=np.array(window, np.int64),
        is_first=np.array(is_first, bool),
        is_last=np.array(is_last, bool),
        is_fill=np.array(is_fill, bool),
        batch=np.array(batch, np.int64),
    )


def standard_error(errors: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return the standard error of the mean of batches in the order of time; None for fewer than 8.

    The variance is that of differences between successive batches (Wolter, Introduction to Variance
    Estimation, 2nd edition, section 8.2.1, estimator 2): phases of a run that last longer than a
    batch are no error, since each of them has its windows. The jump from one to the next counts as
    one, so it is an upper estimate for a run with phases.
    """
    count = len(errors)
    if count < LEAST:
        return None
    steps = np.diff(errors)
    return sqrt(float(steps @ steps) / (2 * count * (count - 1)))
