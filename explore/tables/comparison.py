"""Comparison of machines: a sweep over presets with one memory, turned into a column for each."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ...sim.engine.versions import versions
from ...sim.report.result import FUNCTIONAL, memory_section
from ...sim.report.run_report import memory_text
from ...sim.run.options import MODEL
from ..sweep.row import Row
from ..work.kernel_run import KernelRun
from .figures import SECTIONS, Figure, figures_of_rows, shown

__all__ = ["Comparison", "line_of", "with_ratios"]

SCHEMA = "spica.comparison"
VERSION = 1


@dataclass(frozen=True)
class Comparison:
    """Figures of a kernel on several machines.

    Parameters
    ----------
    runs : sequence of KernelRun
        Run of each machine.
    rows : sequence of Row
        Outcome of each machine, in the same order.

    """

    runs: Sequence[KernelRun]
    rows: Sequence[Row]

    @property
    def names(self) -> list[str]:
        """Names of the machines."""
        return [run.preset for run in self.runs]

    @property
    def numerics(self) -> list[str]:
        """Numerics of the products of each machine; a dash without a unit for them."""
        return [" and ".join(run.config.product_numerics) or "-" for run in self.runs]

    @property
    def is_passed(self) -> bool:
        """Whether the run of every machine passes its check."""
        return all(row.is_passed for row in self.rows)

    @cached_property
    def figures(self) -> list[Figure]:
        """Figures that one of the machines has, section by section."""
        return figures_of_rows(self.rows)

    @property
    def title(self) -> str:
        """Kernel with its sizes."""
        run = self.runs[0]
        return " ".join([run.kernel, *(f"{name}={size:,}" for name, size in run.sizes.items())])

    @property
    def memory(self) -> dict[str, Any]:
        """Memory of all machines, as in a result."""
        memory = self.runs[0].options.memory
        if self.runs[0].options.engine == MODEL or memory is None:
            return FUNCTIONAL
        section = memory_section(memory)
        return {"model": section["model"], "parameters": section["parameters"], "traffic": None}

    @property
    def notes(self) -> list[str]:
        """Sentences below the table: reasons of machines that did not pass, settings."""
        reasons = [
            f"{name}: {row.record.status}. {row.record.reason}"
            for name, row in zip(self.names, self.rows, strict=True)
            if not row.is_passed
        ]
        options, memory = self.runs[0].options, self.memory
        drivers = dict.fromkeys(run.driver for run in self.runs)
        settings = [f"engine {options.engine}", f"driver {' or '.join(drivers)}"]
        settings += [f"seed {options.seed}"]
        if memory["model"] == "functional":
            settings.append("no timing")
        else:
            text = memory_text(memory["model"], memory["parameters"])
            settings.append(f"the same memory: {text}")
        return [*reasons, f"All machines: {', '.join(settings)}."]

    def table(self) -> Iterator[tuple[str, str | None, list[str]]]:
        """Yield section, label and cells of each row; the label of the head of a section is None.

        The cells are a value of each machine, followed by its ratio except for the first machine.
        """
        yield "", "verdict", with_ratios([row.record.status for row in self.rows], [])
        for section, title in SECTIONS.items():
            figures = [figure for figure in self.figures if figure.section == section]
            if figures:
                yield title, None, []
            if figures and section == "area":
                yield title, "numerics of products", with_ratios(self.numerics, [])
            for figure in figures:
                values = [shown(figure, value) for value in figure.values]
                yield title, figure.label, with_ratios(values, figure.ratios)

    def markdown(self) -> str:
        """Return the comparison as Markdown."""
        heads = with_ratios(self.names, [])
        lines = [f"# {self.title}", "", line_of(["figure", *heads])]
        lines.append(line_of(["---", *("---:" for _ in heads)]))
        for section, label, cells in self.table():
            if label is None:
                lines.append(line_of([f"**{section}**", *("" for _ in heads)]))
            else:
                lines.append(line_of([label, *cells]))
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def report(self) -> dict[str, Any]:
        """Return the comparison for JSON, with the complete result of every run."""
        run = self.runs[0]
        return {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "kernel": run.kernel,
            "sizes": dict(run.sizes),
            "engine": run.options.engine,
            "seed": run.options.seed,
            "memory": self.memory,
            "machines": [
                {
                    "name": name,
                    "driver": run.driver,
                    "status": row.record.status,
                    "reason": row.record.reason,
                    "numerics": run.config.product_numerics,
                    "result": row.record.result,
                    "area": row.areas,
                }
                for name, run, row in zip(self.names, self.runs, self.rows, strict=True)
            ],
            "figures": [
                asdict(figure) | {"values": list(figure.values), "ratios": figure.ratios}
                for figure in self.figures
            ],
            "versions": versions(),
        }


def with_ratios(values: Sequence[str], ratios: Sequence[float | None]) -> list[str]:
    """Return the cells of a row: each value but the first is followed by its ratio, if any."""
    cells = [values[0]]
    for number, value in enumerate(values[1:], 1):
        ratio = ratios[number] if ratios else None
        cells += [value, "" if ratio is None else f"x{ratio:.2f}"]
    return cells


def line_of(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"
