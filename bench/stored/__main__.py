"""Take the results of the pages again: ``python -m bench.stored [FILE ...]``; ``make results``.

Every finished run is written at once, so the same command continues after an interrupt. Runs of
the sources of now are left as they are.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from spica.base.errors import UserError

from ..guarded import guarded
from ..snapshot.source import tree_key
from .record import FOLDER, Run, read, write
from .take import LIBRARY, measured, needs_library

__all__ = ["main"]

INCOMPLETE = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; return its exit code."""
    given = parser().parse_args(arguments)
    return guarded("bench.stored", lambda: carried_out(given))


def carried_out(given: argparse.Namespace) -> int:
    """Add a run, or take the due runs of the files; return the exit code."""
    if given.add:
        path = FOLDER / f"{given.add[0]}.json"
        known = read(path) if path.exists() else []
        write(path, [*known, measured(Run(command=given.add[1], result={}, output=given.output))])
        return 0
    files = [FOLDER / f"{name}.json" for name in given.files] or sorted(FOLDER.glob("*.json"))
    return INCOMPLETE if sum(failures(path, given) for path in files) else 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(prog="python -m bench.stored", description=__doc__)
    whole.add_argument(
        "files", nargs="*", metavar="FILE", help="name in docs/records; default: all"
    )
    whole.add_argument("--list", action="store_true", help="only list the runs that are due")
    whole.add_argument("--all", action="store_true", help="also runs of the sources of now")
    whole.add_argument("--add", nargs=2, metavar=("FILE", "COMMAND"), help="add a run to a file")
    whole.add_argument("--output", action="store_const", const="text", default="",
                       help="with --add: store the text of the command too")  # fmt: skip
    return whole


def failures(path: Path, given: argparse.Namespace) -> int:
    """Take the due runs of a file; return the number of those that failed."""
    runs, failed = read(path), 0
    for number, run in enumerate(runs):
        if run.sources == tree_key() and not given.all:
            continue
        print(f"{path.stem}: {run.command}", file=sys.stderr)
        if given.list:
            continue
        if needs_library(run.command):
            print(f"{path.stem}: left out, since {LIBRARY} names no folder", file=sys.stderr)
            continue
        try:
            runs[number] = measured(run)
        except UserError as error:
            print(f"bench.stored: {error}", file=sys.stderr)
            failed += 1
        else:
            write(path, runs)
    return failed


if __name__ == "__main__":
    sys.exit(main())
