"""The user's SRAM macros, and how the memories of a design are tiled from them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..hw.errors import UserError
from .memories import MemoryShape

__all__ = ["Macro", "Tiling", "read_macros", "tiling_of"]

#: What columns of a table may be called, by what they hold.
COLUMNS = {
    "name": ("macro", "name"),
    "ports": ("ports",),
    "words": ("words", "depth"),
    "width": ("width", "bits"),
    "area": ("area_um2", "area"),
}
#: Ports as they are written, and how many of them there are.
PORTS = {"1": 1, "1rw": 1, "2": 2, "1r1w": 2, "2rw": 2}


@dataclass(frozen=True, kw_only=True)
class Macro:
    """A memory of a compiler or a library: ports (1 or 2), words, their width, its area in um2."""

    name: str
    ports: int
    words: int
    width: int
    area: float


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """What a memory is made of: so many of a macro, or flip-flops where `macro` is None."""

    macro: Macro | None
    count: int
    area: float

    def __str__(self) -> str:
        return "flip-flops" if self.macro is None else f"{self.count} x {self.macro.name}"


def read_macros(path: Path) -> list[Macro]:
    """Return the macros of a table of comma-separated values with a line of column names."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        raise UserError(f"--sram-table must name a CSV file, and there is none at {path}") from None
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
        raise UserError(f"--sram-table must list one macro or more, and {path} has no rows")
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
    """Return the least area that a memory takes, where a NAND2 takes `nand2` um2.

    One kind of macro stands side by side for the width and above each other for the depth; each
    further read port is another copy. Macros are taken to write by parts of a word where the
    memory does.
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
