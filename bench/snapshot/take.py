"""Course of a snapshot: every case without an entry, on worker processes or in this one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, as_completed
from time import monotonic

from spica.api.progress import duration
from spica.base.errors import UserError
from spica.explore.sweep.execution import carried_out
from spica.explore.sweep.workers import workers
from spica.explore.work.record import REFUSED, STATUSES, Record
from spica.explore.work.source import source_key

from .cases import Case
from .file import Snapshot

__all__ = ["take"]

Outcome = tuple[Case, Record, float]


def take(snapshot: Snapshot, cases: Sequence[Case], jobs: int) -> Counter[str]:
    """Add the entries of all cases that a snapshot lacks; return the number of cases by status.

    Each new entry is printed, unless the case is refused.

    Parameters
    ----------
    snapshot : Snapshot
        The snapshot; its file has every finished case, also after an interrupt.
    cases : sequence of Case
        Cases in their order.
    jobs : int
        Worker processes; 1 for this process alone.

    """
    rest = [case for case in cases if not snapshot.has(case)]
    print(f"{len(cases) - len(rest)} of {len(cases)} cases are in {snapshot.path}", flush=True)
    began = monotonic()
    try:
        for done, (case, record, seconds) in enumerate(outcomes(rest, jobs), start=1):
            snapshot.add(case, record, seconds)
            if record.status != REFUSED:
                elapsed = duration(monotonic() - began)
                reason = f": {record.reason}" if record.reason else ""
                print(
                    f"{done} of {len(rest)} in {elapsed}: {record.status}, {case.name}, "
                    f"{duration(seconds)}{reason}",
                    flush=True,
                )
    finally:
        snapshot.write()
    counts = Counter(snapshot.entries[case.name]["status"] for case in cases)
    print(", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status]))
    return counts


def outcomes(cases: Sequence[Case], jobs: int) -> Iterator[Outcome]:
    """Yield every case with its record and its time in seconds."""
    if jobs == 1:
        yield from map(outcome, cases)
        return
    with workers(jobs, None) as executor:
        futures = [executor.submit(outcome, case, source_key()) for case in cases]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenExecutor:
            raise UserError(
                "a worker process was ended from outside, perhaps for want of memory; finished "
                "cases are in the file: repeat the command, with fewer workers"
            ) from None
        finally:
            for future in futures:
                future.cancel()


def outcome(case: Case, expected: str | None = None) -> Outcome:
    """Carry out a case; return it with its record and its time in seconds.

    Parameters
    ----------
    case : Case
        The case.
    expected : str or None
        `source_key` of the process that keeps the record; None for this process.

    """
    began = monotonic()
    record = carried_out(case, expected or source_key())
    return case, record, monotonic() - began
