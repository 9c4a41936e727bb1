"""SRAM macros of the user, and the tiling of a design's memories with them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import UserError
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
#: The same for columns that only energy needs.
ENERGY_COLUMNS = {
    "read_energy": ("read_pj",),
    "write_energy": ("write_pj",),
    "leakage": ("leakage_nw",),
}
#: Notations of ports, and the number of ports.
PORTS = {"1": 1, "1rw": 1, "2": 2, "1r1w": 2, "2rw": 2}


@dataclass(frozen=True, kw_only=True)
class Macro:
    """A memory macro.

    Parameters
    ----------
    name : str
        Name.
    ports : int
        Ports, 1 or 2.
    words, width : int
        Words, and bits of each.
    area : float
        Area in um2.
    read_energy, write_energy : float or None
        Energy of a read and of a write of one word in pJ; None if the table does not state it.
    leakage : float or None
        Leakage power in nW.

    """

    name: str
    ports: int
    words: int
    width: int
    area: float
    read_energy: float | None = None
    write_energy: float | None = None
    leakage: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """Tiles of a memory.

    Parameters
    ----------
    macro : Macro or None
        Macro of each tile; None for flip-flops.
    count : int
        Instances of the macro.
    area : float
        Total area in um2.
    columns : int
        Instances side by side, which are accessed together.
    copies : int
        Copies of the memory, one for each of its read ports; a write accesses all of them.

    """

    macro: Macro | None
    count: int
    area: float
    columns: int = 0
    copies: int = 0

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
        for what, known in (COLUMNS | ENERGY_COLUMNS).items()
    }
    if missing := [" or ".join(COLUMNS[what]) for what in COLUMNS if columns[what] is None]:
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
    entry = {what: cells[name] for what, name in columns.items() if name is not None}
    ports = PORTS.get(entry["ports"].lower())
    if ports is None:
        raise UserError(
            f"ports in --sram-table must be one of {', '.join(PORTS)}, not {entry['ports']!r} in "
            f"line {line} of {path}"
        )
    try:
        words, width, area = int(entry["words"]), int(entry["width"]), float(entry["area"])
    except ValueError:
        words = width = area = 0
    if words < 1 or width < 1 or not 0 < area < float("inf"):
        raise UserError(
            f"words, width and area in --sram-table must be positive numbers, not "
            f"{entry['words']!r}, {entry['width']!r} and {entry['area']!r} in line {line} of {path}"
        )
    energies = {
        what: energy_of(what, entry[what], path, line) for what in ENERGY_COLUMNS if what in entry
    }
    return Macro(name=entry["name"], ports=ports, words=words, width=width, area=area, **energies)


def energy_of(what: str, text: str, path: Path, line: int) -> float:
    """Return an energy or a leakage power of a row."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UserError(
            f"{ENERGY_COLUMNS[what][0]} in --sram-table must be zero or a positive number, not "
            f"{text!r} in line {line} of {path}"
        )
    return value


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
            columns = -(-shape.width // macro.width)
            count = copies * -(-shape.depth // macro.words) * columns
            area = count * macro.area
            choices.append(
                Tiling(macro=macro, count=count, area=area, columns=columns, copies=copies)
            )
    return min(choices, key=lambda choice: choice.area)
