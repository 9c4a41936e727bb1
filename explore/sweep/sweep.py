"""Course of a sweep: stored records, work on the rest, one row per point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait
from tempfile import TemporaryDirectory

from ...base.errors import UserError
from ...base.progress import Progress
from ..points.plan import Plan, Point
from ..work.area_measurement import AreaMeasurement
from ..work.record import ILLEGAL, PASS, Record
from ..work.source import source_key
from ..work.work import Work
from . import store
from .execution import carried_out
from .row import Row
from .steps import StepFile, current_steps
from .workers import default_jobs, workers

__all__ = ["stored", "sweep", "work_of"]

#: Time between looks at the steps of workers, in seconds.
PERIOD = 1.0


def sweep(
    plan: Plan,
    *,
    has_area: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    has_steps: bool = False,
) -> list[Row]:
    """Carry out a plan; return its rows in the order of the points.

    Every finished piece of work is stored at once. A sweep that was ended early continues with the
    rest; its rows do not depend on the order of completion.

    Parameters
    ----------
    plan : Plan
        Points of the sweep.
    has_area : bool
        Whether to measure area and depth of every machine.
    jobs : int or None
        Processes on this machine; None for the number of processors.
    scheduler : str or None
        Address of a Dask scheduler; its workers replace the processes.
    progress : callable or None
        Progress callback.
    has_steps : bool
        Whether it receives the steps of the processes here, by the names of the machines.

    """
    works = work_of(plan, has_area)
    records = stored(works)
    for key, work in works.items():
        if work.is_immediate:
            records[key] = carried_out(work, source_key())
    rest = [work for key, work in works.items() if key not in records]
    names = names_of(plan) if has_steps and scheduler is None else None

    def report(steps: str = "") -> None:
        if progress is not None:
            progress(steps or "sweep", len(records), len(works))

    report()
    for work, record in finished(rest, jobs or default_jobs(), scheduler, names, report):
        records[work.key] = record
        report()
    return [row_of(point, has_area, records) for point in plan.points]


def names_of(plan: Plan) -> dict[str, str]:
    """Return the machine of each piece of work, the first that needs it, by key."""
    runs = [point.run for point in plan.points if point.run is not None]
    names = {run.key: run.preset for run in runs}
    for run in reversed(runs):
        names[AreaMeasurement(config=run.config).key] = run.preset
    return names


def work_of(plan: Plan, has_area: bool) -> dict[str, Work]:
    """Return the distinct pieces of work of a plan by key, in the order of the points."""
    works: dict[str, Work] = {}
    for point in plan.points:
        if point.run is not None:
            works[point.run.key] = point.run
            if has_area:
                area = AreaMeasurement(config=point.run.config)
                works[area.key] = area
    return works


def stored(works: Mapping[str, Work]) -> dict[str, Record]:
    """Return the records that earlier sweeps have stored, by key."""
    records = {key: store.load(work) for key, work in works.items() if not work.is_immediate}
    return {key: record for key, record in records.items() if record is not None}


def finished(
    works: Sequence[Work],
    jobs: int,
    scheduler: str | None,
    names: Mapping[str, str] | None,
    report: Callable[[str], None],
) -> Iterator[tuple[Work, Record]]:
    """Do work on workers; yield every piece with its record, as soon as the record is stored.

    The steps of work with `names` are reported.
    """
    if not works:
        return
    with (
        TemporaryDirectory(prefix="spica-", ignore_cleanup_errors=True) as folder,
        workers(min(jobs, len(works)), scheduler) as executor,
    ):
        futures = {
            executor.submit(
                carried_out,
                work,
                source_key(),
                None if names is None else StepFile(folder, names[work.key]),
            ): work
            for work in by_machine(works)
        }
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(
                    waiting, PERIOD if names else None, return_when=FIRST_COMPLETED
                )
                for future in done:
                    work, record = futures[future], future.result()
                    if record.is_final:
                        store.save(work, record)
                    yield work, record
                if steps := current_steps(folder):
                    report(steps)
        except (BrokenExecutor, CancelledError):
            raise UserError(
                "a worker process or the scheduler was ended from outside, perhaps for want of "
                "memory; finished points are kept: repeat the sweep, with fewer processes"
            ) from None
        finally:
            for future in futures:
                future.cancel()


def by_machine(works: Sequence[Work]) -> list[Work]:
    """Return work with the first piece of each machine at the beginning.

    The others find its model built, instead of waiting for each other.
    """
    ranks: dict[str, int] = {}
    order = []
    for work in works:
        machine = repr(work.config)
        ranks[machine] = ranks.get(machine, -1) + 1
        order.append((ranks[machine], work))
    return [work for _, work in sorted(order, key=lambda place: place[0])]


def row_of(point: Point, has_area: bool, records: Mapping[str, Record]) -> Row:
    """Return the row of a point."""
    if point.run is None:
        return Row(point.preset, point.settings, Record(status=ILLEGAL, reason=point.reason), {})
    record = records[point.run.key]
    if not has_area:
        return Row(point.preset, point.settings, record, {})
    area = records[AreaMeasurement(config=point.run.config).key]
    if area.status != PASS and record.status == PASS:
        record = Record(
            status=area.status,
            reason=f"area: {area.reason}",
            figures=record.figures,
            counters=record.counters,
            result=record.result,
        )
    return Row(point.preset, point.settings, record, area.figures, area.result)
