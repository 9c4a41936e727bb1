"""Table of a sweep: rows in a fixed order, as CSV, as JSON and as records for a data frame."""

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from math import isfinite
from typing import Any

from ...sim.engine.versions import versions
from ..points.axes import Axis
from ..sweep.row import Row
from ..work.metrics import METRICS, RUN_METRICS, Metric

__all__ = ["columns", "csv_text", "metrics_of", "ordered", "report", "values_of"]

SCHEMA = "spica.sweep"
VERSION = 1


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that passed, then the others."""
    return sorted(rows, key=lambda row: not row.is_passed)


def metrics_of(has_area: bool) -> Mapping[str, Metric]:
    """Return the metrics of a table."""
    return METRICS if has_area else RUN_METRICS


def columns(axes: Sequence[Axis], has_area: bool) -> list[str]:
    """Return the names of the columns."""
    fields = [axis.field for axis in axes]
    return ["preset", *fields, "status", *metrics_of(has_area), "reason"]


def values_of(row: Row, has_area: bool) -> dict[str, Any]:
    """Return the values of a row by column."""
    figures = row.figures
    return {
        "preset": row.preset,
        **{field: number_of(text) for field, text in row.settings.items()},
        "status": row.record.status,
        **{name: figures.get(name) for name in metrics_of(has_area)},
        "reason": row.record.reason,
    }


def number_of(text: str) -> int | float | str:
    """Return a value as a number, if it is a finite one."""
    with suppress(ValueError):
        return int(text, 0)
    with suppress(ValueError):
        number = float(text)
        return number if isfinite(number) else text
    return text


def csv_text(axes: Sequence[Axis], rows: Sequence[Row], has_area: bool) -> str:
    """Return the table as CSV; a missing figure is an empty cell."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns(axes, has_area), lineterminator="\n")
    writer.writeheader()
    writer.writerows(values_of(row, has_area) for row in ordered(rows))
    return stream.getvalue()


def report(
    kernel: str, sizes: Mapping[str, int], axes: Sequence[Axis], rows: Sequence[Row], has_area: bool
) -> dict[str, Any]:
    """Return the table for JSON: as CSV, with counters and with the meanings of the metrics."""
    return {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "kernel": kernel,
        "sizes": dict(sizes),
        "axes": [asdict(axis) for axis in axes],
        "metrics": {
            name: {"meaning": metric.meaning, "better": metric.better}
            for name, metric in metrics_of(has_area).items()
        },
        "points": [
            values_of(row, has_area) | {"counters": dict(row.record.counters)}
            for row in ordered(rows)
        ],
        "versions": versions(),
    }
