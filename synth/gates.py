"""Cost of a gate-level netlist: NAND2 equivalents of gates and flip-flops."""

import re
from collections import Counter

__all__ = ["NAND2_EQUIVALENTS", "count_flip_flops", "flip_flop_nand2", "nand2_equivalents"]

#: Weight of each gate in two-input NAND gates (4 transistors in static CMOS), by transistor count.
NAND2_EQUIVALENTS = {
    "$_BUF_": 1.0,
    "$_NOT_": 0.5,
    "$_NAND_": 1.0,
    "$_NOR_": 1.0,
    "$_AND_": 1.5,
    "$_OR_": 1.5,
    "$_ANDNOT_": 1.5,
    "$_ORNOT_": 1.5,
    "$_XOR_": 2.5,
    "$_XNOR_": 2.5,
    "$_MUX_": 2.5,
    "$_NMUX_": 2.5,
    "$_AOI3_": 1.5,
    "$_OAI3_": 1.5,
    "$_AOI4_": 2.0,
    "$_OAI4_": 2.0,
}

FLIP_FLOP = 5.5  # plain D flip-flop; open 130 nm libraries have 5.3 to 6.5
SYNCHRONOUS_RESET = 1.0  # gate before its data input
ASYNCHRONOUS_RESET = 1.0
ENABLE = 2.0  # multiplexer before its data input, part of the cell in most libraries
LATCH = 4.0

REGISTER = re.compile(r"\$_(?P<kind>DFF|DFFE|SDFF|SDFFE|SDFFCE|ALDFF|ALDFFE|DFFSR|DFFSRE|DLATCH)_")


def cell_weight(cell: str) -> float:
    """Return the NAND2 equivalents of one gate-level cell."""
    if cell in NAND2_EQUIVALENTS:
        return NAND2_EQUIVALENTS[cell]
    register = REGISTER.match(cell)
    if register is None:
        raise ValueError(f"cell must be a gate or a register of Yosys's library, not {cell!r}")
    kind = register["kind"]
    if kind == "DLATCH":
        return LATCH
    # `$_DFF_P_` has one letter for its clock, `$_DFF_PP0_` two more for its reset.
    polarities = cell.strip("_").rpartition("_")[2]
    weight = FLIP_FLOP
    if kind.startswith("S"):
        weight += SYNCHRONOUS_RESET
    elif kind.startswith(("ALDFF", "DFFSR")) or "0" in polarities or "1" in polarities:
        weight += ASYNCHRONOUS_RESET
    return weight + (ENABLE if kind.endswith("E") else 0)


def nand2_equivalents(cells: Counter[str]) -> float:
    """Return the NAND2 equivalents of gates and registers, without memories."""
    return sum(cell_weight(cell) * count for cell, count in cells.items())


def flip_flop_nand2(cells: Counter[str]) -> float:
    """Return the NAND2 equivalents of registers only."""
    return sum(cell_weight(cell) * count for cell, count in cells.items() if REGISTER.match(cell))


def count_flip_flops(cells: Counter[str]) -> int:
    """Return the bits of state in flip-flops."""
    return sum(count for cell, count in cells.items() if REGISTER.match(cell))
