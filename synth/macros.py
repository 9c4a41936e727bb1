"""SRAM macros of the user, and the tiling of a design's memories with them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..hw.base.errors import UserError
from .memories import MemoryShape

__all__ = ["Macro", "Tiling", "read_macros", "tiling_of"]

#: Accepted column names of a table, by content.
COLUMNS = {
    "name": ("macro", "name"),
    "ports": ("ports",),
    "words": ("words", "depth"),
    "width": ("width", "bits"),
    "area": ("area_um2", "area"),
}
#: Notations of ports, and the number of ports.
PORTS = {"1": 1, "1rw": 1, "2": 2, "1r1w": 2, "2rw": 2}


@dataclass(frozen=True, kw_only=True)
class Macro:
    """A memory macro: ports (1 or 2), words, bits of a word, area in um2."""

    name: str
    ports: int
    words: int
    width: int
    area: float


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """Tiles of a memory: `count` instances of a macro, or flip-flops if `macro` is None."""

    macro: Macro | None
    count: int
    area: float

    def __str__(self) -> str:
        return "flip-flops" if self.macro is None else f"{self.count} x {self.macro.name}"


def read_macros(path: Path) -> list[Macro]:
    """Return the macros of a CSV table with a header line."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        raise UserError(f"--sram-table must name a CSV file; there is none at {path}") from None
    rows = csv.DictReader(io.StringIO(text))
    names = [name.strip().lower() for name in rows.fieldnames or () if name]
    columns = {
        what: next((name for name in known if name in names), None)
        for what, known in COLUMNS.items()
    }
    if missing := [" or ".join(COLUMNS[what]) for what, name in columns.items() if name is None]:
        raise UserError(
            f"--sram-table must have the columns macro, ports, words, width and area_um2; {path} "
            f"has none called {', none called '.join(missing)}"
        )
    macros = [macro_of(row, columns, path, rows.line_num) for row in rows]
    if not macros:
        raise UserError(f"--sram-table must list one macro or more; {path} has no rows")
    return macros


def macro_of(row: dict, columns: dict, path: Path, line: int) -> Macro:
    """Return the macro of a row."""
    cells = {(name or "").strip().lower(): str(text or "").strip() for name, text in row.items()}
    found = {what: cells[name] for what, name in columns.items()}
    ports = PORTS.get(found["ports"].lower())
    if ports is None:
        raise UserError(
            f"ports in --sram-table must be one of {', '.join(PORTS)}, not {found['ports']!r} in "
            f"line {line} of {path}"
        )
    try:
        words, width, area = int(found["words"]), int(found["width"]), float(found["area"])
    except ValueError:
        words = width = area = 0
    if words < 1 or width < 1 or not 0 < area < float("inf"):
        raise UserError(
            f"words, width and area in --sram-table must be positive numbers, not "
            f"{found['words']!r}, {found['width']!r} and {found['area']!r} in line {line} of {path}"
        )
    return Macro(name=found["name"], ports=ports, words=words, width=width, area=area)


def tiling_of(shape: MemoryShape, macros: Iterable[Macro], nand2: float) -> Tiling:
    """Return the tiling of least area for a memory, with a NAND2 of `nand2` um2.

    Instances of one macro are placed side by side for the width and stacked for the depth; each
    further read port needs another copy. Macros are assumed to support partial writes of a word if
    the memory does.
    """
    choices = [Tiling(macro=None, count=0, area=shape.flip_flop_nand2 * nand2)]
    if shape.ports.endswith("async"):
        return choices[0]
    ports = 1 if shape.ports == "1rw" else 2
    copies = 1 if ports == 1 else max(1, int(shape.ports.partition("r")[0]))
    for macro in macros:
        if macro.ports >= ports:
            count = copies * -(-shape.depth // macro.words) * -(-shape.width // macro.width)
            choices.append(Tiling(macro=macro, count=count, area=count * macro.area))
    return min(choices, key=lambda choice: choice.area)
