"""Generated C++ header with the constants and tables of the special functions."""

from collections.abc import Iterable

from ...hw.arith.special import functions as special
from ...hw.arith.special.coefficients import COEFFICIENTS, INVERSE_TURN, INVERSE_TURN_WIDTH
from ...hw.arith.special.functions import TABLES, Table
from ...hw.config.formats import FP32
from ...hw.isa.operations import SpecialOperation

__all__ = ["special_header"]

#: Widths and limits of the definition; its tables are not numbers.
CONSTANTS = [name for name in special.__all__ if isinstance(getattr(special, name), int)]


def special_header() -> str:
    """Return the text of ``special_tables.hpp``."""
    names = ", ".join(f"{one.name.capitalize()} = {one.value}" for one in SpecialOperation)
    parts = [
        "// Generated: constants and tables of the special functions.",
        "#pragma once",
        "#include <cstdint>",
        "",
        "namespace spica {",
        "",
        f"enum class Special : uint32_t {{ {names} }};",
        "",
        "namespace special_tables {",
        "",
        *(f"constexpr int {camel(name)} = {getattr(special, name)};" for name in CONSTANTS),
        "",
        "// Segments of equal length; `before` is the number of segments in earlier pieces.",
        "struct Piece { int first, last, index_width, before; };",
        "struct Coefficients { int64_t c0, c1, c2; };",
        "",
        *(line for name in TABLES for line in table_lines(name, TABLES[name])),
        *window_lines(),
        "}  // namespace special_tables",
        "",
        "}  // namespace spica",
        "",
    ]
    return "\n".join(parts)


def camel(name: str) -> str:
    """Return the C++ name of a constant: ``TURN_WIDTH`` is ``kTurnWidth``."""
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def table_lines(name: str, table: Table) -> list[str]:
    """Return the lines of one table: a struct with pieces and coefficients."""
    before, pieces = 0, []
    for piece in table.pieces:
        pieces.append(f"{{{piece.first}, {piece.last}, {piece.index_width}, {before}}}")
        before += piece.last - piece.first + 1
    rows = ("{" + ", ".join(map(str, row)) + "}" for row in COEFFICIENTS[name])
    return [
        f"struct {camel(name)[1:]} {{",
        f"    static constexpr Piece pieces[] = {{{', '.join(pieces)}}};",
        "    static constexpr Coefficients coefficients[] = {",
        *wrapped(rows),
        "    };",
        "};",
        "",
    ]


def window_lines() -> list[str]:
    """Return the lines of the windows of 1 / (2 pi), one per exponent from -1 to the largest."""
    mask = (1 << special.WINDOW_WIDTH) - 1
    top = INVERSE_TURN_WIDTH + FP32.fraction_width - special.WINDOW_WIDTH
    windows = (INVERSE_TURN >> (top - e) & mask for e in range(-1, FP32.bias + 1))
    return [
        "// Significant bits of 1 / (2 pi) for each exponent from -1 on.",
        "constexpr int64_t kWindows[] = {",
        *wrapped(f"{window:#x}" for window in windows),
        "};",
        "",
    ]


def wrapped(items: Iterable[str], columns: int = 100) -> list[str]:
    """Return `items` with commas, wrapped into lines of at most `columns`."""
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > columns:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return [*lines, line]
