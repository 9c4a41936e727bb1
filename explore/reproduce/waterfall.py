"""From our MAC utilisation and energy to the published ones, by restrictions of the machine."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...base.progress import Progress
from ...sim.engine.versions import versions
from ...sim.report.tables import percent
from ..charts.bars import Bar, Bars
from ..sweep.row import Row
from ..work.kernel_run import KernelRun
from .energy_definitions import MATRIX, energy_of
from .published import DESIGNS, MAC_UTILIZATION, SIZES, SOURCE
from .reproduced import failures_of, run_reports, swept, table_of
from .restricted_energy import HEADS, TITLES, Cost, CostOf, energy_lines, energy_report
from .restrictions import RESTRICTIONS, Restriction, combined, restricted
from .runs import KERNEL, gemm_run

__all__ = ["TITLE", "Step", "Waterfall", "waterfall"]

SCHEMA = "spica.waterfall"
VERSION = 2
TITLE = f"MAC utilisation of {KERNEL} as published (table 3)"
#: Rows besides those of restrictions.
OURS, PUBLISHED, REST = "Spica", "published", "not explained"
#: Kinds of bars of a chart.
SIDES = ("together", "alone", "published")


@dataclass(frozen=True, kw_only=True)
class Step:
    """MAC utilisation of a design under a restriction; None for a figure that is not there.

    Parameters
    ----------
    design, label : str
        Name of the design and of the restriction.
    size : int
        Side of the product.
    alone : float or None
        With this restriction only; None also if the design does not change under it.
    together : float or None
        With it and those before it.

    """

    design: str
    label: str
    size: int
    alone: float | None
    together: float | None


@dataclass(frozen=True)
class Waterfall:
    """Utilisations under all restrictions.

    Parameters
    ----------
    sizes : sequence of int
        Sides of the products.
    runs : mapping of str to pair
        Each run with its outcome, by the hash of its content.

    """

    sizes: Sequence[int]
    runs: Mapping[str, tuple[KernelRun, Row]]

    title = TITLE

    @property
    def is_passed(self) -> bool:
        """Whether every run passes its check."""
        return all(row.is_passed for _, row in self.runs.values())

    def utilization(
        self, design: str, size: int, restrictions: Sequence[Restriction]
    ) -> float | None:
        """Return the MAC utilisation of a run, None if it did not pass."""
        result = self.result(design, size, restrictions)
        return None if result is None else result["mac_utilization"]

    def result(
        self, design: str, size: int, restrictions: Sequence[Restriction]
    ) -> Mapping[str, Any] | None:
        """Return the result of a run, None if it did not pass."""
        _, row = self.runs[restricted(gemm_run(design, size), restrictions).key]
        return row.record.result if row.is_passed else None

    def cost(self, size: int) -> CostOf:
        """Return the function that gives the cost of a design."""

        def design_cost(design: str, restrictions: Sequence[Restriction]) -> Cost | None:
            result = self.result(design, size, restrictions)
            if result is None:
                return None
            macs = math.prod(result["sizes"].values())
            return Cost(
                energy=energy_of()(result) / macs,
                units=energy_of(MATRIX)(result) / macs,
                cycles=result["cycles"] / macs,
            )

        return design_cost

    @cached_property
    def steps(self) -> list[Step]:
        """Steps, design by design of each size, in the order of `RESTRICTIONS`."""
        steps = []
        for size in self.sizes:
            for design in DESIGNS:
                steps += [
                    Step(
                        design=design,
                        label=restriction.label,
                        size=size,
                        alone=self.utilization(design, size, [restriction])
                        if design in restriction.designs
                        else None,
                        together=self.utilization(design, size, combined(design, number + 1)),
                    )
                    for number, restriction in enumerate(RESTRICTIONS)
                ]
        return steps

    @property
    def heads(self) -> list[str]:
        """Heads of the columns of utilisations: of each design together and alone."""
        return [f"{name}{mark}" for name in DESIGNS.values() for mark in ("", ", alone")]

    @property
    def tables(self) -> Iterator[tuple[str, list[str], Iterator[tuple[str, list[str]]]]]:
        """Yield title, heads and lines of each table: utilisation and energies of each size."""
        for size in self.sizes:
            problem = f"{size} x {size} x {size}"
            yield f"{TITLE}, {problem}", self.heads, self.lines(size)
            for is_equal, title in TITLES.items():
                lines = energy_lines(self.cost(size), OURS, PUBLISHED, is_equal=is_equal)
                yield f"{title}, {problem}", HEADS, lines

    def lines(self, size: int) -> Iterator[tuple[str, list[str]]]:
        """Yield the label and the cells of each line of a size."""
        own = [step for step in self.steps if step.size == size]
        yield OURS, self.cells({design: self.utilization(design, size, []) for design in DESIGNS})
        for restriction in RESTRICTIONS:
            these = [step for step in own if step.label == restriction.label]
            yield restriction.label, [shown(x) for s in these for x in (s.together, s.alone)]
        yield PUBLISHED, self.cells({design: published(design, size) for design in DESIGNS})
        yield REST, self.cells({design: self.rest(design, size) for design in DESIGNS})

    def cells(self, values: Mapping[str, float | None]) -> list[str]:
        """Return the cells of a line whose figures are not those of single restrictions."""
        return [cell for value in values.values() for cell in (shown(value), "")]

    def rest(self, design: str, size: int) -> float | None:
        """Return the utilisation under all restrictions minus the published one."""
        together = self.utilization(design, size, combined(design))
        return None if together is None else together - published(design, size)

    @property
    def notes(self) -> list[str]:
        """Sentences below the tables."""
        return [
            *failures_of(self.runs.values()),
            "A figure has its restriction and all above it; alone, only its own. A dash: the "
            "restriction does not concern the design.",
            "Energies are of events; each design has the restrictions that concern it. Power is "
            "energy by cycles.",
            f"Published: {SOURCE}.",
        ]

    def markdown(self) -> str:
        """Return all tables as Markdown."""
        text = ["# Restrictions of the published machine"]
        for title, heads, lines in self.tables:
            text += ["", f"## {title}", "", *table_of("restriction", heads, lines)]
        for note in self.notes:
            text += ["", note]
        return "\n".join([*text, ""])

    def charts(self) -> list[Bars]:
        """Return a chart per size and design: from ours down to the published figure."""
        charts = []
        for size in self.sizes:
            for design, name in DESIGNS.items():
                figures = [(OURS, "together", self.utilization(design, size, []))]
                for step in self.steps:
                    if (step.design, step.size) == (design, size):
                        figures += [
                            (step.label, "together", step.together),
                            (step.label, "alone", step.alone),
                        ]
                figures.append((PUBLISHED, "published", published(design, size)))
                bars = [
                    Bar(label=label, side=side, value=value, text=shown(value))
                    for label, side, value in figures
                ]
                title = f"{name}, {size} x {size} x {size}"
                charts.append(Bars(title=title, sides=SIDES, bars=bars, least=1.0))
        return charts

    def report(self) -> dict[str, Any]:
        """Return the tables for JSON, with the complete result of every run."""
        return {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "title": TITLE,
            "source": SOURCE,
            "restrictions": [
                {
                    "name": restriction.name,
                    "label": restriction.label,
                    "settings": list(restriction.settings),
                    "memory": dict(restriction.memory),
                    "is_apart": restriction.is_apart,
                }
                for restriction in RESTRICTIONS
            ],
            "designs": [
                {
                    "design": design,
                    "size": size,
                    "ours": self.utilization(design, size, []),
                    "published": published(design, size),
                    "not_explained": self.rest(design, size),
                }
                for size in self.sizes
                for design in DESIGNS
            ],
            "steps": [vars(step) for step in self.steps],
            "energy": [
                {"size": size} | row
                for size in self.sizes
                for row in energy_report(self.cost(size))
            ],
            "notes": self.notes,
            "runs": run_reports(self.runs.values()),
            "versions": versions(),
        }


def shown(value: float | None) -> str:
    """Return a share as text; a dash for none."""
    return "-" if value is None else percent(value)


def published(design: str, size: int) -> float:
    """Return the published utilisation."""
    return MAC_UTILIZATION[design][SIZES.index(size)]


def runs_of(size: int) -> Iterator[KernelRun]:
    """Yield the runs of all designs at one size: without restrictions, with one, with several."""
    for design in DESIGNS:
        run = gemm_run(design, size)
        own = combined(design)
        yield run
        for restriction in own:
            yield restricted(run, [restriction])
        for count in range(2, len(RESTRICTIONS) + 1):
            yield restricted(run, combined(design, count))


def waterfall(
    *,
    sizes: Sequence[int],
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Waterfall:
    """Run all designs under the restrictions of the published machine.

    Finished runs are stored at once, as in a sweep. Table 3 has those without restrictions.

    Parameters
    ----------
    sizes : sequence of int
        Sides of the products, of `published.SIZES`.
    jobs, scheduler, progress
        As for `sweep.sweep`.

    """
    runs = {run.key: run for size in sizes for run in runs_of(size)}
    rows = swept(list(runs.values()), jobs=jobs, scheduler=scheduler, progress=progress)
    return Waterfall(sizes, dict(zip(runs, zip(runs.values(), rows, strict=True), strict=True)))
