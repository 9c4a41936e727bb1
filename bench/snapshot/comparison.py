"""Comparison of two snapshots: changed facts by group, and changes that are allowed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spica.base.errors import UserError
from spica.sim.run.request.choices import choose

from .facts import GROUPS, Value

__all__ = ["Allowance", "Change", "changes_of"]

Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """Quantity that differs between two snapshots.

    Parameters
    ----------
    group : str
        One of `GROUPS`.
    case : str
        Name of the case.
    quantity : str
        Name of the quantity in its group.
    old, new : int, float, str or None
        Values; None where the snapshot does not have the quantity.

    """

    group: str
    case: str
    quantity: str
    old: Value | None
    new: Value | None

    @property
    def relative(self) -> float | None:
        """Relative difference of two numbers; None for others, and from 0."""
        numbers = [
            value
            for value in (self.old, self.new)
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        if len(numbers) < 2 or not numbers[0]:
            return None
        return (numbers[1] - numbers[0]) / abs(numbers[0])


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Allowed changes of a group.

    Parameters
    ----------
    group : str
        One of `GROUPS`.
    limit : float or None
        Largest relative difference of numbers, up or down; None for all changes.

    """

    group: str
    limit: float | None = None

    def covers(self, change: Change) -> bool:
        """Return whether a change is allowed."""
        if change.group != self.group or self.limit is None:
            return change.group == self.group
        relative = change.relative
        # A limit in percent that is met exactly may differ in the last digit.
        return relative is not None and abs(relative) <= self.limit * (1 + 1e-12)

    @classmethod
    def parsed(cls, text: str) -> "Allowance":
        """Return the allowance of ``GROUP`` or of ``GROUP:PERCENT%``."""
        group, colon, limit = text.partition(":")
        choose("group of --allow", group, GROUPS)
        if not colon:
            return cls(group=group)
        if not re.fullmatch(r"\d+(\.\d+)?%", limit):
            raise UserError(
                f"--allow must be a group, or a group with percent as in cycles:0.5%, not {text!r}"
            )
        return cls(group=group, limit=float(limit[:-1]) / 100)


def changes_of(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> Iterator[Change]:
    """Yield every difference of the entries of two snapshots, group by group.

    Cases keep the order of the old snapshot. A case that only one snapshot has is one change.
    """
    changes = [
        change
        for case in dict.fromkeys((*old, *new))
        for change in case_changes(case, old.get(case), new.get(case))
    ]
    for group in GROUPS:
        yield from (change for change in changes if change.group == group)


def case_changes(case: str, old: Entry | None, new: Entry | None) -> Iterator[Change]:
    """Yield the differences of the entries of a case.

    The facts of a case that no longer runs, or that runs now, are not listed: its status is.
    """
    if old is None or new is None:
        states = (None if entry is None else entry["status"] for entry in (old, new))
        yield from changed("cases", case, "case", *states)
        return
    for group, quantity in (("outcomes", "status"), ("reasons", "reason")):
        yield from changed(group, case, quantity, old[quantity], new[quantity])
    if not (old["facts"] and new["facts"]):
        return
    for group in GROUPS:
        before, after = (entry["facts"].get(group, {}) for entry in (old, new))
        for quantity in dict.fromkeys((*before, *after)):
            values = before.get(quantity), after.get(quantity)
            yield from changed(group, case, quantity, *values)


def changed(
    group: str, case: str, quantity: str, old: Value | None, new: Value | None
) -> Iterator[Change]:
    """Yield a change if two values differ."""
    if old != new:
        yield Change(group=group, case=case, quantity=quantity, old=old, new=new)
