"""Tables of ``spica sweep`` on the terminal."""

from collections import Counter
from collections.abc import Collection, Sequence

from rich.table import Table

from ...explore.points.axes import Axis
from ...explore.points.plan import Plan
from ...explore.sweep.row import Row
from ...explore.work.record import STATUSES
from ...sim.report.energy_report import energy_text
from ..options import new_table, standard_output
from ..sheet import Sheet

__all__ = ["plan_table", "print_sweep"]

#: Metrics of the table on the terminal: heading, and format of a figure.
SHOWN = {
    "cycles": ("cycles", "{:,}"),
    "least_cycles": ("least cycles", "{:,}"),
    "instructions": ("instructions", "{:,}"),
    "instructions_per_cycle": ("IPC", "{:.2f}"),
    "operations_per_cycle": ("operations/cycle", "{:.1f}"),
    "mac_utilization": ("MAC use", "{:.1%}"),
    "lane_utilization": ("lane use", "{:.1%}"),
    "dram_utilization": ("DRAM use", "{:.1%}"),
    "energy_pj": ("energy", ""),  # with an SI prefix
    "pj_per_mac": ("pJ/MAC", "{:.2f}"),
    "energy_delay_js": ("EDP, J s", "{:.3g}"),
    "nand2": ("NAND2", "{:,.0f}"),
    "cells": ("cells", "{:,}"),
    "depth": ("depth", "{:,}"),
}
STALL = "stall_"


def print_sweep(title: str, axes: Sequence[Axis], rows: Sequence[Row]):
    """Print the points that passed with their figures, the others with their reasons, a sum."""
    out = standard_output()
    passed = [row for row in rows if row.is_passed]
    if passed:
        out.print(figure_sheet(title, axes, passed).printed())
    if len(passed) < len(rows):
        fields = [axis.field for axis in axes]
        table = new_table("points without a result", "preset", *fields, "status", "reason")
        for row in rows:
            if not row.is_passed:
                record = row.record
                table.add_row(row.preset, *row.settings.values(), record.status, record.reason)
        out.print(table)
    counts = Counter(row.record.status for row in rows)
    parts = [f"{counts[status]} {status}" for status in STATUSES if counts[status]]
    number = "1 point" if len(rows) == 1 else f"{len(rows)} points"
    out.print(f"{number}: {', '.join(parts)}")


def figure_sheet(title: str, axes: Sequence[Axis], rows: Sequence[Row]) -> Sheet:
    """Return the table of the points that passed, with the metrics that one of them has."""
    figures = [row.figures for row in rows]
    names = [name for name in SHOWN if any(values.get(name) is not None for values in figures)]
    stalls = [largest_stall(row) for row in rows]
    heads = [SHOWN[name][0] for name in names] + ["largest stall"] * any(stalls)
    return Sheet(
        title=title,
        column="preset",
        numbers=[*(axis.field for axis in axes), *heads],
        rows=[
            [
                row.preset,
                *row.settings.values(),
                *(cell(name, row.figures.get(name)) for name in names),
                *([stall] if any(stalls) else []),
            ]
            for row, stall in zip(rows, stalls, strict=True)
        ],
    )


def cell(name: str, figure: float | None) -> str:
    """Return a figure as text."""
    if figure is None:
        return ""
    return energy_text(figure) if name == "energy_pj" else SHOWN[name][1].format(figure)


def largest_stall(row: Row) -> str:
    """Return the most frequent reason of an empty issue slot with its share."""
    shares = {
        name.removeprefix(STALL): share
        for name, share in row.figures.items()
        if name.startswith(STALL) and share
    }
    if not shares:
        return ""
    reason = max(shares, key=lambda name: shares[name])
    return f"{reason} {shares[reason]:.0%}"


def plan_table(plan: Plan, stored: Collection[str]) -> Table:
    """Return the points of a plan: stored, to be run, or illegal."""
    fields = [axis.field for axis in plan.axes]
    table = new_table(f"{len(plan.points)} points", "preset", *fields, "state", "reason")
    for point in plan.points:
        state = "illegal"
        if point.run is not None:
            state = "stored" if point.run.key in stored else "to do"
        table.add_row(point.preset, *point.settings.values(), state, point.reason)
    return table
