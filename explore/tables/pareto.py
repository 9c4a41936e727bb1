"""Pareto front: points that no other point dominates."""

from collections.abc import Sequence

import numpy as np

from ..work.metrics import MORE

__all__ = ["front"]


def front(points: Sequence[Sequence[float]], better: Sequence[str]) -> list[int]:
    """Return the indices of the points that are not dominated, in the order of the first metric.

    A point dominates another one if it is at least as good in every metric and better in one.
    Equal points do not dominate each other.

    Parameters
    ----------
    points : sequence of sequence of float
        Values of the metrics of each point; shape (points, metrics).
    better : sequence of str
        `metrics.LESS` or `metrics.MORE` for each metric.

    """
    signs = [-1.0 if direction == MORE else 1.0 for direction in better]
    costs = np.asarray(points, dtype=float).reshape(-1, len(better)) * signs
    undominated = [
        number
        for number, cost in enumerate(costs)
        if not np.any(np.all(costs <= cost, axis=1) & np.any(costs < cost, axis=1))
    ]
    return sorted(undominated, key=lambda number: tuple(costs[number]))
