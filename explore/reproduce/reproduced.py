"""Reproduction of a published table: runs of all designs and sizes, and their figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...base.progress import Progress
from ...sim.engine.versions import versions
from ...sim.report.run_report import memory_text
from ...sim.report.tables import percent
from ..charts.bars import Bar, Bars
from ..points.plan import Plan, Point
from ..sweep.row import Row
from ..sweep.sweep import sweep
from ..tables.comparison import Comparison, line_of
from ..tables.figures import passed
from ..work.kernel_run import KernelRun
from .experiments import EXPERIMENTS
from .published import SOURCE
from .reproduction import SHARE, Reproduction

__all__ = [
    "Entry",
    "Reproduced",
    "failures_of",
    "reports",
    "reproduce",
    "run_reports",
    "swept",
    "table_of",
]

SCHEMA = "spica.reproduction"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Figure of a line at one size; None for one that is not there."""

    label: str
    size: int
    ours: float | None
    published: float | None


@dataclass(frozen=True)
class Reproduced:
    """Table with its figures.

    Parameters
    ----------
    table : Reproduction
        Definition of the table.
    runs : sequence of KernelRun
        Runs, size by size.
    rows : sequence of Row
        Outcomes in the same order.

    """

    table: Reproduction
    runs: Sequence[KernelRun]
    rows: Sequence[Row]

    @property
    def title(self) -> str:
        """Title of the table."""
        return self.table.title

    @property
    def is_passed(self) -> bool:
        """Whether every run passes its check."""
        return all(row.is_passed for row in self.rows)

    @cached_property
    def comparisons(self) -> dict[int, Comparison]:
        """All figures of the designs by size, without areas."""
        sizes = dict.fromkeys(size_of(run) for run in self.runs)
        pairs = list(zip(self.runs, self.rows, strict=True))
        comparisons = {}
        for size in sizes:
            own = [(run, row) for run, row in pairs if size_of(run) == size]
            comparisons[size] = Comparison([run for run, _ in own], [row for _, row in own])
        return comparisons

    @cached_property
    def entries(self) -> list[Entry]:
        """Figures, line by line."""
        return [
            Entry(
                label=line.label,
                size=size,
                ours=line.measured(results_of(comparison)),
                published=line.published.get(size),
            )
            for line in self.table.lines
            for size, comparison in self.comparisons.items()
        ]

    @property
    def heads(self) -> list[str]:
        """Heads of the columns of figures: of each size ours and the published one."""
        return [f"{size}{mark}" for size in self.comparisons for mark in ("", ", published")]

    def lines(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the label and the cells of each line."""
        for line in self.table.lines:
            own = [entry for entry in self.entries if entry.label == line.label]
            yield (
                line.label,
                [self.shown(x) for entry in own for x in (entry.ours, entry.published)],
            )

    def shown(self, value: float | None) -> str:
        """Return a figure as text; a dash for none."""
        if value is None:
            return "-"
        return percent(value) if self.table.unit == SHARE else f"{value:,.2f}"

    @property
    def notes(self) -> list[str]:
        """Sentences below the table."""
        failed = failures_of(zip(self.runs, self.rows, strict=True))
        memory = next(iter(self.comparisons.values())).memory
        text = memory_text(memory["model"], memory["parameters"])
        experiments = EXPERIMENTS.get(self.table.name, ())
        notes = [self.table.note, *experiments, f"All designs: {self.table.formats}; {text}."]
        return [*failed, *filter(None, notes), f"Published: {SOURCE}."]

    def charts(self) -> list[Bars]:
        """Return a chart of each size; shares are drawn to the whole, others to the largest."""
        values = [
            value for entry in self.entries for value in (entry.ours, entry.published) if value
        ]
        is_whole = self.table.unit == SHARE and max(values, default=1) > 0.2
        return [
            Bars(
                title=self.table.head(size),
                sides=("ours", "published"),
                bars=[
                    Bar(label=entry.label, side=side, value=value, text=self.shown(value))
                    for entry in self.entries
                    if entry.size == size
                    for side, value in (("ours", entry.ours), ("published", entry.published))
                ],
                least=1.0 if is_whole else max(values, default=0.0),
            )
            for size in self.comparisons
        ]

    def markdown(self) -> str:
        """Return the table as Markdown, followed by all figures of the designs at each size."""
        lines = [f"# {self.table.title}", "", *table_of("design", self.heads, self.lines())]
        for note in self.notes:
            lines += ["", note]
        accounts = [
            comparison.markdown().replace("# ", "## ", 1)
            for comparison in self.comparisons.values()
        ]
        return "\n".join([*lines, "", *accounts])

    def report(self) -> dict[str, Any]:
        """Return the table for JSON, with the complete result of every run."""
        return {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "name": self.table.name,
            "title": self.table.title,
            "unit": self.table.unit,
            "source": SOURCE,
            "figures": [vars(entry) for entry in self.entries],
            "notes": self.notes,
            "runs": run_reports(zip(self.runs, self.rows, strict=True)),
            "versions": versions(),
        }


def reports(tables: Sequence[Reproduced]) -> dict[str, Any]:
    """Return several tables for JSON."""
    return {
        "schema": f"{SCHEMA}s",
        "schema_version": VERSION,
        "tables": [table.report() for table in tables],
    }


def table_of(
    first: str, heads: Sequence[str], lines: Iterable[tuple[str, list[str]]]
) -> Iterator[str]:
    """Yield the lines of a table of figures in Markdown; `first` is the head of the labels."""
    yield line_of([first, *heads])
    yield line_of(["---", *("---:" for _ in heads)])
    for label, cells in lines:
        yield line_of([label, *cells])


def results_of(comparison: Comparison) -> dict[str, Mapping[str, Any]]:
    """Return the results of the designs that passed, by preset, with areas that are measured."""
    return {
        run.preset: {**row.record.result, "area": row.areas}
        for run, row in zip(comparison.runs, comparison.rows, strict=True)
        if row.record.result is not None and passed(row.record.result)
    }


def reproduce(
    table: Reproduction,
    *,
    quick: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Run all designs of a table; return its figures.

    Finished runs are stored at once, as in a sweep, and tables share them.

    Parameters
    ----------
    table : Reproduction
        Definition of the table.
    quick : bool
        Whether to run the sizes of a quick reproduction only.
    jobs, scheduler, progress
        As for `sweep.sweep`.

    """
    sizes = table.quick_sizes if quick else table.sizes
    runs = table.runs(sizes)
    rows = swept(runs, has_area=table.has_area, jobs=jobs, scheduler=scheduler, progress=progress)
    return Reproduced(table, runs, rows)


def swept(runs: Sequence[KernelRun], **options) -> list[Row]:
    """Carry out runs as a sweep does, with its options; return their rows."""
    points = [Point(preset=run.preset, settings={}, run=run) for run in runs]
    return sweep(Plan(axes=(), points=points), **options)


def run_reports(outcomes: Iterable[tuple[KernelRun, Row]]) -> list[dict[str, Any]]:
    """Return the runs for JSON, each with its complete result."""
    return [
        {
            "preset": run.preset,
            "sizes": dict(run.sizes),
            "status": row.record.status,
            "reason": row.record.reason,
            "result": row.record.result,
        }
        for run, row in outcomes
    ]


def failures_of(outcomes: Iterable[tuple[KernelRun, Row]]) -> list[str]:
    """Return a sentence for each run that did not pass."""
    return [
        f"{run.preset}, {size_of(run)}: {row.record.status}. {row.record.reason}"
        for run, row in outcomes
        if not row.is_passed
    ]


def size_of(run: KernelRun) -> int:
    """Return the size of a run: its first dimension."""
    return next(iter(run.sizes.values()))
