"""Cell libraries in Liberty format, and the area of a block's gates and flip-flops in them."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ..base.build_cache import digest
from ..base.errors import UserError
from .blocks import TOP, Block
from .cache import cached
from .synthesis import netlist_of, synthesis_key
from .yosys import YosysError, run_yosys, yosys_version

__all__ = [
    "CellArea",
    "Library",
    "map_to",
    "mapped",
    "mapping_key",
    "read_library",
    "require_mapped",
]

CELL = re.compile(r'^\s*cell\s*\(\s*"?[^\s")]+"?\s*\)', re.MULTILINE)
POWER = re.compile(r"\b(?:internal|leakage)_power\s*\([^()]*\)\s*\{")
BRACE = re.compile(r"[{}]")
AREA = re.compile(r"\barea\s*:\s*\"?([0-9.eE+-]+)")
FUNCTION = re.compile(r'(?<![\w])function\s*:\s*"([^"]*)"')
INPUT = re.compile(r'\bdirection\s*:\s*"?input\b')
#: Functions not (A and B) of an output, without spaces and brackets around single names.
NAND2 = re.compile(r"!\((\w+)[&*](\w+)\)|\((\w+)[&*](\w+)\)'|!(\w+)[|+]!(\w+)|(\w+)'[|+](\w+)'")

#: Result of a mapped block.
Result = TypeVar("Result")
#: Start of Yosys's automatic numbering, above the numbers in the netlist.
START = "autoidx 100000000\n"
#: Maps the gates and registers of a block to cells.
MAPPING = """\
read_rtlil start.il
read_json gates.json
dfflibmap -liberty cells.lib
abc -liberty cells.lib
clean
"""
#: Writes the area of the mapped block.
AREA_REPORT = "tee -q -o mapped.json stat -json -liberty cells.lib\n"


@dataclass(frozen=True, kw_only=True)
class Library:
    """A cell library.

    Parameters
    ----------
    path : str
        File it was read from.
    text : str
        Complete text.
    nand2 : float
        Area of its smallest two-input NAND, in its unit, which is the square micrometre in all open
        libraries.

    """

    path: str
    text: str
    nand2: float


@dataclass(frozen=True, kw_only=True)
class CellArea:
    """Areas of a block's cells in a library: total, and of flip-flops."""

    total: float
    flip_flops: float


def read_library(path: Path) -> Library:
    """Return the library of a file; raise `UserError` if designs cannot be mapped to it."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        raise UserError(f"--liberty must name a Liberty file; there is none at {path}") from None
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    if not re.search(r"^\s*library\s*\(", text, re.MULTILINE):
        raise UserError(f"--liberty must name a Liberty file; {path} holds no library (...)")
    text = without_power(text)
    starts = [match.start() for match in CELL.finditer(text)]
    cells = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    if not any(re.search(r"\bff\s*\(", cell) for cell in cells):
        raise UserError(
            f"--liberty must hold a flip-flop, a cell with ff (...), to map registers to; {path} "
            f"has none in {len(cells)} cells"
        )
    areas = [area for cell in cells if (area := nand2_area(cell)) is not None]
    if not areas:
        raise UserError(
            f"--liberty must hold a NAND of two inputs with an area, the unit of gate equivalents; "
            f"{path} has none in {len(cells)} cells"
        )
    return Library(path=str(path), text=text, nand2=min(areas))


def without_power(text: str) -> str:
    """Drop the power tables of a library, half of the text that every run of Yosys parses."""
    parts, at = [], 0
    while match := POWER.search(text, at):
        parts.append(text[at : match.start()])
        depth, at = 1, match.end()
        while depth:
            brace = BRACE.search(text, at)
            if brace is None:  # damaged: Yosys reports where
                return text
            at = brace.end()
            depth += 1 if brace[0] == "{" else -1
    return "".join([*parts, text[at:]])


def nand2_area(cell: str) -> float | None:
    """Return the area of a cell if it is a NAND of two inputs."""
    functions = FUNCTION.findall(cell)
    if len(functions) != 1 or len(INPUT.findall(cell)) != 2:
        return None
    function = re.sub(r"\s+", "", functions[0])
    function = re.sub(r"\((!?\w+'?)\)", r"\1", function)
    if re.fullmatch(r"\(!\(.*\)\)", function):
        function = function[1:-1]
    area = AREA.search(cell)
    if area is None or not NAND2.fullmatch(function):
        return None
    return float(area[1]) or None


def map_to(library: Library, block: Block) -> CellArea:
    """Return the area of a block's gates and flip-flops, without the blocks it instantiates."""

    def area_of(report: str) -> CellArea:
        module = json.loads(report)["modules"][f"\\{TOP}"]
        require_mapped(module["num_cells_by_type"] if module["num_cells"] else {}, block)
        return CellArea(
            total=module.get("area", 0.0), flip_flops=module.get("sequential_area", 0.0)
        )

    return mapped(library, block, "library", AREA_REPORT, area_of)


def mapped(
    library: Library, block: Block, kind: str, report: str, result_of: Callable[[str], Result]
) -> Result:
    """Return a result of mapping a block to a library, from the cache or from Yosys.

    Parameters
    ----------
    library, block
        Library, and the block without those it instantiates.
    kind : str
        Kind of entry in the cache.
    report : str
        Command of Yosys that writes ``mapped.json``.
    result_of : callable
        Takes the text of that file; returns the result.

    """
    script = MAPPING + report
    key = mapping_key(library, block, report)

    def synthesise() -> Result:
        gates = netlist_of(block)["gates.json"]
        files = {"start.il": START, "gates.json": gates, "cells.lib": library.text}
        return result_of(run_yosys(script, files, ["mapped.json"])["mapped.json"])

    try:
        return cached(kind, key, synthesise)
    except YosysError as error:
        raise UserError(
            f"cannot map {block.name} to the cells of {library.path}: {error}"
        ) from None


def mapping_key(library: Library, block: Block, report: str = "") -> str:
    """Return a hash of everything that determines the mapping of a block."""
    return digest([yosys_version(), MAPPING + report, synthesis_key(block), library.text])


def require_mapped(cells: dict[str, int], block: Block):
    """Raise if a gate or register was not mapped to a cell."""
    left = [cell for cell in cells if cell.startswith("$") and not cell.startswith("$mem")]
    if left:
        raise YosysError(f"it has no cell for {', '.join(sorted(left))}")
