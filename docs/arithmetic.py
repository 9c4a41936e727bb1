"""Write the tables of arithmetic.md from what ``python -m bench arithmetic`` measured.

``python docs/arithmetic.py`` from the repository's root, after the benchmark.
"""

import json
import re
from pathlib import Path

from spica.hw.formats import FORMATS, FloatFormat
from spica.sim.golden.floats import decode

PAGE = Path(__file__).with_name("arithmetic.md")
RESULT = Path(__file__).parents[1] / "bench" / "results" / "arithmetic.json"
#: Columns of figures: what they are called, and how they are written.
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


def row(texts) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(texts)} |"


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


def formats_table() -> str:
    """Return the table of the floating-point formats."""
    rows = [row(["format", "sign, exponent, fraction", "largest", "least", "infinity", "NaN"])]
    rows.append(row(["---"] * 6))
    for form in FORMATS.values():
        if not isinstance(form, FloatFormat):
            continue
        widths = (int(form.signed), form.exponent_width, form.fraction_width)
        largest = decode(form.largest, form)
        nan = "only all ones" if form.specials == "nan" else "yes" if form.has_nan else "no"
        rows.append(
            row([
                f"`{form.name}`",
                ", ".join(map(str, widths)),
                f"{largest:.5g}",
                f"2^{form.least_exponent}",
                "yes" if form.has_infinity else "no",
                nan,
            ])
        )
    return "\n".join(rows) + "\n"


def replaced(text: str, name: str, new: str) -> str:
    """Return the page with `new` between the marks of `name`."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    text, found = re.subn(marks, lambda m: m[1] + new + m[2], text, flags=re.DOTALL)
    if found != 1:
        raise ValueError(f"{PAGE.name} must have one place for {name}, not {found}")
    return text


def updated(text: str, result: dict) -> str:
    """Return the page with the tables of `result`."""
    return replaced(replaced(text, "formats", formats_table()), "units", units_table(result))


if __name__ == "__main__":
    if not RESULT.exists():
        raise SystemExit(f"{RESULT.name} is missing: run python -m bench arithmetic first")
    measured = json.loads(RESULT.read_text())
    if measured["quick"]:
        raise SystemExit("the page shows whole measurements: run the benchmark without --quick")
    PAGE.write_text(updated(PAGE.read_text(), measured))
