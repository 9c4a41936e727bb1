"""Write the tables of special_functions.md; the table of errors takes ten minutes.

Run ``python docs/special_functions.py`` from the repository's root.
"""

from math import log2
from pathlib import Path

import pages
from pages import row, table

from spica.hw.arith.special.functions import C0_WIDTH, C1_BITS, C2_BITS, TABLES
from spica.hw.isa.operations import SpecialOperation
from spica.sim.golden.arith.special.errors import SWEEPS, Errors, Sweep, measured

PAGE = Path(__file__).with_name("special_functions.md")

HEADER = ["function", "operands", "values", "largest error, ulp", "absolute", "nearest"]
CONTENTS = {
    "rcp": "1 / (1 + v)",
    "rsqrt": "1 / sqrt(1 + v)",
    "rsqrt_odd": "1 / sqrt(2 + 2v)",
    "exp2": "2^v / 2",
    "log2": "log2(1 + v) / 2v",
    "log2_upper": "-log2(1 - v) / 2v",
    "sin": "sin(pi/4 v) / v",
    "cos": "cos(pi/4 v)",
}


def tables() -> str:
    """Return the table of coefficient tables."""
    width = C0_WIDTH + 1 + C1_BITS + C2_BITS
    rows = [
        [
            f"`{name}`",
            CONTENTS[name],
            ", ".join(
                f"{piece.last - piece.first + 1} of 2^-{piece.index_width}"
                for piece in function.pieces
            ),
            f"{function.segments * width:,}",
        ]
        for name, function in TABLES.items()
    ]
    total = sum(function.segments for function in TABLES.values())
    rows.append(["all", "", f"{total}", f"{total * width:,}"])
    return table(["table", "value at v", "segments", "bits"], rows)


def error_cells(sweep: Sweep, result: Errors) -> list[str]:
    """Return the cells of one sweep over all its numbers."""
    is_circular = sweep.operation in (SpecialOperation.SIN, SpecialOperation.COS)
    return [
        f"`{sweep.operation.name.lower()}`",
        sweep.text,
        f"{result.values:,}",
        f"{result.ulp:.4f}",
        f"2^{log2(result.absolute):.2f}" if is_circular else "",
        f"{result.correct_share:.2%}",
    ]


def error_row(sweep: Sweep, result: Errors) -> str:
    """Return the row of one sweep."""
    return row(error_cells(sweep, result))


def errors() -> str:
    """Return the table of errors."""
    return table(HEADER, [error_cells(sweep, measured(sweep)) for sweep in SWEEPS])


def updated(text: str, sections=(tables, errors)) -> str:
    """Return the page with these tables regenerated from the definitions."""
    return pages.updated(text, sections)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
