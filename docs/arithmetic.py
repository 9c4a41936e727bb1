"""Write the tables of arithmetic.md from the results of ``python -m bench arithmetic``.

Run ``python docs/arithmetic.py`` from the repository's root after the benchmark.
"""

import json
from pathlib import Path

import pages
from pages import row, table

from spica.hw.config.formats import FORMATS, FloatFormat
from spica.sim.golden.arith.float.floats import decode

PAGE = Path(__file__).with_name("arithmetic.md")
RESULT = Path(__file__).parents[1] / "bench" / "results" / "arithmetic.json"
#: Columns of figures: title, and format of the value.
FIGURES = {
    "latency": lambda unit: f"{unit['latency']}",
    "interval": lambda unit: f"{unit['interval']}",
    "cells": lambda unit: f"{unit['cells']:,}",
    "NAND2": lambda unit: f"{unit['nand2']:,.0f}",
    "flip-flops": lambda unit: f"{unit['flip_flops']:,}",
    "depth": lambda unit: f"{unit['depth']}",
    "vectors": lambda unit: f"{unit['vectors']:,}",
    "wrong": lambda unit: f"{unit['mismatches']:,}",
    "M vectors/s": lambda unit: f"{unit['vectors_per_second'] / 1e6:.2f}",
}


def group_table(group: str, units: dict[str, dict]) -> list[str]:
    """Return the lines of one group's table."""
    return [
        f"### {group}",
        "",
        row(["unit", *FIGURES, "oracle"]),
        row(["---", *("--:" for _ in FIGURES), "---"]),
        *(
            row([f"`{name}`", *(write(unit) for write in FIGURES.values()), unit["oracle"]])
            for name, unit in units.items()
        ),
        "",
    ]


def units_table(result: dict) -> str:
    """Return the tables of all units, group by group."""
    groups: dict[str, dict[str, dict]] = {}
    for name, unit in result["units"].items():
        groups.setdefault(unit["group"], {})[name] = unit
    return "\n".join(line for group in groups.items() for line in group_table(*group))


def formats() -> str:
    """Return the table of the floating-point formats."""
    rows = []
    for form in FORMATS.values():
        if not isinstance(form, FloatFormat):
            continue
        widths = (int(form.signed), form.exponent_width, form.fraction_width)
        nan = "only all ones" if form.specials == "nan" else "yes" if form.has_nan else "no"
        rows.append([
            f"`{form.name}`",
            ", ".join(map(str, widths)),
            f"{decode(form.largest, form):.5g}",
            f"2^{form.least_exponent}",
            "yes" if form.has_infinity else "no",
            nan,
        ])
    return table(
        ["format", "sign, exponent, fraction", "largest", "least", "infinity", "NaN"], rows
    )


def updated(text: str, result: dict) -> str:
    """Return the page with the tables of `result`."""

    def units() -> str:
        return units_table(result).rstrip()

    return pages.updated(text, (formats, units))


if __name__ == "__main__":
    if not RESULT.exists():
        raise SystemExit(f"{RESULT.name} is missing: run `python -m bench arithmetic` first")
    measured = json.loads(RESULT.read_text())
    if measured["quick"]:
        raise SystemExit("the results are from --quick: run the benchmark without it")
    PAGE.write_text(updated(PAGE.read_text(), measured))
