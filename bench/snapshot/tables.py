"""Tables of a comparison: the changes of each group, the largest first."""

import re
from collections.abc import Iterator, Sequence

from rich.table import Table

from spica.cli.options import new_table

from .comparison import Allowance, Change
from .facts import GROUPS, Value

__all__ = ["change_tables"]

#: A hash, and the characters of it in a cell.
HASHED, HASH = re.compile("[0-9a-f]{64}"), 12


def change_tables(
    changes: Sequence[Change], allowances: Sequence[Allowance], rows: int
) -> Iterator[Table | str]:
    """Yield a table for each group with changes, and a line on the rows that it leaves out.

    Parameters
    ----------
    changes : sequence of Change
        Changes by group.
    allowances : sequence of Allowance
        Allowed changes, which are marked.
    rows : int
        Rows of a table; 0 for all.

    """
    for group in GROUPS:
        own = [change for change in changes if change.group == group]
        if not own:
            continue
        cases = len({change.case for change in own})
        table = new_table(
            f"{group}: {len(own):,} changed in {cases:,} cases",
            *("case", "quantity"),
            numbers=["old", "new", "difference", ""],
        )
        for change in sorted(own, key=rank)[: rows or None]:
            is_allowed = any(allowance.covers(change) for allowance in allowances)
            table.add_row(
                change.case,
                change.quantity,
                shown(change.old),
                shown(change.new),
                difference(change),
                "allowed" if is_allowed else "",
            )
        yield table
        if rows and len(own) > rows:
            yield f"{len(own) - rows:,} more changes of {group}; --rows 0 lists all"


def rank(change: Change) -> tuple[bool, float]:
    """Return the order of a change: the largest first, quantities of one snapshot only last.

    Changes of texts, and from 0, have no relative difference and count as the largest.
    """
    relative = change.relative
    is_in_one = None in (change.old, change.new)
    return is_in_one, -float("inf") if relative is None else -abs(relative)


def difference(change: Change) -> str:
    """Return the relative difference of a change in percent."""
    relative = change.relative
    return "" if relative is None else f"{100 * relative:+.3g} %"


def shown(value: Value | None) -> str:
    """Return a value for a cell."""
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)[:HASH] if HASHED.fullmatch(str(value)) else str(value)
    return f"{value:,}"
