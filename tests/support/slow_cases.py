"""Parameters of tests of which only some cases run in the fast tests."""

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest

__all__ = ["fast_only", "pairs"]


def fast_only(fast: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Return all cases; those not in `fast` are marked slow."""
    marked = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        marked.append(case if case in fast else pytest.param(*values, marks=pytest.mark.slow))
    return marked


def pairs(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return all pairs of two parameters; each value of a parameter is in some fast case.

    The fast cases combine each value of the longer list with one of the shorter, in turn.
    """
    first, second = list(first), list(second)
    count = max(len(first), len(second))
    fast = [(first[n % len(first)], second[n % len(second)]) for n in range(count)]
    return fast_only(fast, product(first, second))
