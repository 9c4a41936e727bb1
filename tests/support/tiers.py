"""Tiers of tests: which tests run in `make test`, `make test-full` and `make test-slow`.

A test belongs to the quick tier unless it is marked. ``pytest.mark.full`` moves a test to the full
tier, ``pytest.mark.slow`` to the slow tier. Of a parametrised test, ``pytest.mark.quick(3)`` keeps
three cases in the quick tier, at equal distances, and ``pytest.mark.quick("a-*")`` those whose ids
match a pattern; the others are of the full tier.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import pytest

__all__ = ["FULL_TIER", "QUICK_TIER", "REST_TIER", "TIERS", "assign_tiers"]

#: Selections of pytest (``-m``) of the tiers without slow tests. The full tier includes the quick;
#: `rest` is the full tier without them, for runs that follow a run of the quick tier.
QUICK_TIER = "not slow and not full"
FULL_TIER = "not slow"
REST_TIER = "full and not slow"
TIERS = {"quick": QUICK_TIER, "full": FULL_TIER, "rest": REST_TIER}


def case_of(item: pytest.Item) -> str:
    """Return the id of a test's case, without the name of the function."""
    return item.name.partition("[")[2].removesuffix("]")


def matching(items: Sequence[pytest.Item], pattern: str) -> list[pytest.Item]:
    """Return the cases whose id matches a pattern; brackets have no special meaning."""
    pattern = pattern.replace("[", "[[]")
    return [item for item in items if fnmatchcase(case_of(item), pattern)]


def spread(items: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
    """Return `count` cases at equal distances, so that each parameter varies."""
    return [items[(2 * n + 1) * len(items) // (2 * count)] for n in range(count)]


def chosen_cases(items: Sequence[pytest.Item], choices: Sequence[int | str]) -> list[pytest.Item]:
    """Return the cases of a test that the arguments of its mark ``quick`` choose.

    Raises
    ------
    ValueError
        If an argument chooses nothing, or every case.

    """
    chosen: list[pytest.Item] = []
    for choice in choices:
        cases = matching(items, choice) if isinstance(choice, str) else spread(items, choice)
        if not cases:
            raise ValueError(f"no case matches the pattern {choice!r} of the mark `quick`")
        chosen += cases
    if not chosen or len(set(chosen)) >= len(items):
        raise ValueError(
            f"the mark `quick` must choose some of {len(items)} cases, not {len(set(chosen))}"
        )
    return chosen


def assign_tiers(items: Iterable[pytest.Item | pytest.Collector]) -> list[str]:
    """Mark the cases of a module that the marks ``quick`` exclude as ``full``.

    Return a message for each mark that chooses nothing, or every case.
    """
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None
        if isinstance(item, pytest.Item) and item.get_closest_marker("quick") and not is_slow:
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    problems = []
    for function, cases in functions.items():
        try:
            chosen = chosen_cases(cases, cases[0].get_closest_marker("quick").args)
        except ValueError as error:
            problems.append(f"{function}: {error}")
            continue
        for item in cases:
            if item not in chosen:
                item.add_marker(pytest.mark.full)
    return problems
