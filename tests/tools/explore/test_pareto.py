"""Tests of the Pareto front against its definition."""

import random
from itertools import product

import pytest

from spica.explore.metrics import LESS, MORE
from spica.explore.pareto import front


def dominates(one, other, better):
    """Return whether a point is nowhere worse than another one, and better in one metric."""
    gains = [
        (a - b) if way == MORE else (b - a) for a, b, way in zip(one, other, better, strict=True)
    ]
    return all(gain >= 0 for gain in gains) and any(gain > 0 for gain in gains)


@pytest.mark.parametrize("better", [*product((LESS, MORE), repeat=2)])
@pytest.mark.parametrize("seed", range(6))
def test_front_holds_the_points_that_none_dominates(better, seed):
    rng = random.Random(seed)
    span = rng.choice([3, 10, 10**6])  # few values give equal points
    points = [(rng.randrange(span), rng.randrange(span)) for _ in range(rng.randrange(1, 80))]
    expected = {
        number
        for number, point in enumerate(points)
        if not any(dominates(other, point, better) for other in points)
    }
    found = front(points, better)
    assert set(found) == expected and len(found) == len(expected)
    along = [points[number][0] for number in found]
    assert along == sorted(along, reverse=better[0] == MORE)


def test_no_points_have_no_front():
    assert front([], (LESS, LESS)) == []


def test_equal_points_are_both_on_the_front():
    assert front([(1, 2), (1, 2), (2, 2)], (LESS, LESS)) == [0, 1]
