"""Proofs of the written Verilog: ``python -m formal.writer [presets]``, from the root.

Each distinct conversion of the presets is proven equal to Amaranth's RTLIL of the same netlist.
Exit code 1 if one is not proven.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from spica.api.progress import ProgressDisplay
from spica.cli.options import new_table, standard_output
from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.machine.machine import Machine
from spica.hw.presets.presets import PRESETS

from .conversions import Subject, converted
from .prover import Finding, prove
from .session import Session

__all__ = ["main"]

#: Options of the emission by form: for synthesis, for a simulator, with SRAM macros.
FORMS = {
    "synthesis": (False, None),
    "simulation": (True, None),
    "macros": (False, MacroLimits()),
}


def subjects_of(
    presets: Iterable[str], forms: Iterable[str], progress: Callable
) -> Iterator[tuple[str, str, Subject]]:
    """Yield the form and the first preset of each distinct conversion."""
    seen: set[tuple[str, str]] = set()
    for form in forms:
        tops = ((name, Machine(PRESETS[name])) for name in presets)
        for preset, subjects in converted(tops, *FORMS[form]):
            for subject in subjects:
                key = subject.code, subject.reference
                if key not in seen:
                    seen.add(key)
                    yield form, preset, subject
            progress(f"conversions: {preset}, {form}", len(seen), 0)


def carry_out(
    presets: Iterable[str],
    forms: Iterable[str],
    workers: int,
    is_cached: bool,
    progress: Callable,
) -> Iterator[dict]:
    """Yield the finding of each distinct conversion, for JSON."""
    sessions: SimpleQueue[Session] = SimpleQueue()

    def find(subject: Subject) -> Finding:
        session = sessions.get()
        try:
            return prove(subject, session, is_cached)
        finally:
            sessions.put(session)

    with ExitStack() as resources:
        for _ in range(workers):
            sessions.put(resources.enter_context(Session()))
        pool = ThreadPoolExecutor(workers)  # each worker waits for a process
        waiting: dict[Future, tuple[str, str]] = {}
        ended: SimpleQueue[Future] = SimpleQueue()
        try:
            for form, preset, subject in subjects_of(presets, forms, progress):
                proof = pool.submit(find, subject)
                waiting[proof] = form, preset
                proof.add_done_callback(ended.put)
                while not ended.empty():
                    done = ended.get()
                    yield as_row(*waiting.pop(done), done.result())
            total = len(waiting)
            while waiting:
                done = ended.get()
                place, finding = waiting.pop(done), done.result()
                progress(f"{finding.name}: {finding.status}", total - len(waiting), total)
                yield as_row(*place, finding)
        finally:
            pool.shutdown(cancel_futures=True)


def as_row(form: str, preset: str, finding: Finding) -> dict:
    """Return a finding for JSON."""
    return {"form": form, "preset": preset, **finding.as_dict()}


def table_of(rows: list[dict], forms: Iterable[str], presets: Iterable[str]):
    """Return the table of findings by form and preset, with its slowest block."""
    numbers = ["blocks", "bits", "gates", "s", "not proven"]
    table = new_table("Written Verilog, proven", "form", "first in", "slowest", numbers=numbers)
    for form in forms:
        for preset in presets:
            some = [row for row in rows if (row["form"], row["preset"]) == (form, preset)]
            if some:
                table.add_row(form, preset, *summary(some))
    table.add_row("all", "", *summary(rows))
    return table


def summary(rows: list[dict]) -> list[str]:
    """Return the cells of a row of the table after its names."""
    slowest = max(rows, key=lambda row: row["seconds"])
    sums = [f"{sum(row[name] for row in rows):,}" for name in ("bits", "gates")]
    seconds = f"{sum(row['seconds'] for row in rows):.0f}"
    failed = sum(row["status"] != "proven" for row in rows)
    slow = f"{slowest['name']}, {slowest['seconds']:.1f} s"
    return [slow, f"{len(rows):,}", *sums, seconds, str(failed)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m formal.writer", description=__doc__)
    parser.add_argument("presets", nargs="*", metavar="preset", help="of spica list; or all")
    parser.add_argument("--form", action="append", choices=FORMS, help="default: all forms")
    parser.add_argument("--workers", type=int, default=2, help="parallel proofs; default: 2")
    parser.add_argument("--fresh", action="store_true", help="also prove what the cache has proven")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.presets if name not in PRESETS]:
        parser.error(f"preset must be one of {', '.join(PRESETS)}, not {', '.join(unknown)}")
    if given.workers < 1:
        parser.error(f"workers must be at least 1, not {given.workers}")
    presets, forms = given.presets or list(PRESETS), given.form or list(FORMS)
    rows: list[dict] = []
    with ProgressDisplay() as progress:
        for row in carry_out(presets, forms, given.workers, not given.fresh, progress):
            rows.append(row)
            if row["status"] != "proven":
                print(f"{row['name']}: {row['status']}: {row['detail']}", file=sys.stderr)
            if given.json:
                write_rows(given.json, rows)
    standard_output().print(table_of(rows, forms, presets))
    return 1 if any(row["status"] != "proven" for row in rows) else 0


def write_rows(path: Path, rows: list[dict]) -> None:
    """Write the findings, sorted; a reader finds the last whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = sorted(rows, key=lambda row: (row["form"], row["preset"], row["name"]))
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(rows, indent=2) + "\n")
    os.replace(draft, path)


if __name__ == "__main__":
    sys.exit(main())
