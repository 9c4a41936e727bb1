"""Snapshots: ``python -m bench.snapshot take FILE`` in two trees, then ``compare OLD NEW``.

The exit code of a comparison is 1 if anything differs that is not allowed, otherwise 0.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from spica.cli.options import standard_output
from spica.explore.work.record import ERROR
from spica.sim.run.request.choices import require_at_least

from ..guarded import guarded
from .cases import RTL
from .comparison import Allowance, changes_of
from .facts import GROUPS
from .file import opened, read
from .selection import Selection
from .tables import change_tables
from .take import take

__all__ = ["main"]

CHANGED = INCOMPLETE = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; return its exit code."""
    given = parser().parse_args(arguments)
    return guarded("bench.snapshot", lambda: given.carry_out(given))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(prog="python -m bench.snapshot", description=__doc__)
    commands = whole.add_subparsers(dest="command", required=True, metavar="take | compare")
    taking = commands.add_parser("take", help="take a snapshot of this tree, or continue one")
    taking.set_defaults(carry_out=take_snapshot)
    taking.add_argument("file", type=Path, help="JSON file")
    taking.add_argument("--presets", nargs="+", default=(), help="default: all")
    taking.add_argument("--kernels", nargs="+", default=(), help="default: all")
    taking.add_argument("--engine", default=RTL, help="of spica list; iss for values only")
    taking.add_argument("--no-area", action="store_true", help="leave out areas and depths")
    taking.add_argument("--quick", action="store_true", help="only tiny presets")
    taking.add_argument("--workers", type=int, default=1, help="processes; default: 1")
    taking.add_argument("--replace", action="store_true", help="replace one of another tree")
    comparison = commands.add_parser(
        "compare",
        help="compare two snapshots",
        epilog="groups: " + "; ".join(f"{name}, {what}" for name, what in GROUPS.items()),
    )
    comparison.set_defaults(carry_out=compared)
    comparison.add_argument("old", type=Path)
    comparison.add_argument("new", type=Path)
    comparison.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="GROUP[:PERCENT%%]",
        help="allow changes of a group, as in cycles:0.5%%; may be repeated",
    )
    comparison.add_argument("--rows", type=int, default=30, help="rows of a table; 0 for all")
    return whole


def take_snapshot(given: argparse.Namespace) -> int:
    """Take a snapshot; cases with an unexpected error are missing in it."""
    require_at_least(1, {"--workers": given.workers})
    selection = Selection(
        presets=given.presets,
        kernels=given.kernels,
        engine=given.engine,
        has_area=not given.no_area,
        is_quick=given.quick,
    )
    cases = selection.cases()
    counts = take(opened(given.file, replace=given.replace), cases, given.workers)
    return INCOMPLETE if counts[ERROR] else 0


def compared(given: argparse.Namespace) -> int:
    """Compare two snapshots; print the changes."""
    require_at_least(0, {"--rows": given.rows})
    allowances = [Allowance.parsed(text) for text in given.allow]
    old, new = read(given.old), read(given.new)
    changes = list(changes_of(old.entries, new.entries))
    out = standard_output()
    for table in change_tables(changes, allowances, given.rows):
        out.print(table)
        out.print()
    tools = [
        f"{name} {old.versions.get(name)} and {new.versions.get(name)}"
        for name in dict.fromkeys((*old.versions, *new.versions))
        if old.versions.get(name) != new.versions.get(name)
    ]
    if tools:
        out.print(f"note: other tools: {', '.join(tools)}")
    refused = sum(
        not any(allowance.covers(change) for allowance in allowances) for change in changes
    )
    cases = len({*old.entries, *new.entries})
    out.print(f"{cases:,} cases: {len(changes):,} changes, {refused:,} of them not allowed")
    return CHANGED if refused else 0


if __name__ == "__main__":
    sys.exit(main())
