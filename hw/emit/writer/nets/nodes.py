"""Nodes of a prepared netlist: its cells with the nets that they read, and their live bits."""

from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

__all__ = ["Assigned", "Node"]

nir: Any = _nir  # no stub


class Assigned:
    """Assignment of ``value`` from bit ``start`` on while the net ``condition`` is high."""

    __slots__ = ("condition", "start", "value")

    def __init__(self, condition: int, start: int, value: list[int]):
        self.condition, self.start, self.value = condition, start, value

    def within(self, first: int, end: int) -> "Assigned | None":
        """Return the assignment of the bits from `first` to `end`; None if it has none of them."""
        start, stop = max(self.start, first), min(self.start + len(self.value), end)
        if start >= stop:
            return None
        return Assigned(self.condition, start, self.value[start - self.start : stop - self.start])


class Node:
    """Cell of a prepared netlist.

    Attributes
    ----------
    index, module : int
    cell : Cell
        Its original.
    inputs : list of list of int
        Operands by nets, in the order of the kind; the default of an assignment list is one.
    assignments : list of Assigned
        Of an assignment list, those with a condition.
    first, end : int
        Range of the live bits; empty if the cell is dead.

    """

    __slots__ = ("assignments", "cell", "end", "first", "index", "inputs", "kind", "module")

    def __init__(self, index: int, cell: Any):
        self.index, self.cell, self.module, self.kind = index, cell, cell.module_idx, type(cell)
        self.inputs: list[list[int]] = []
        self.assignments: list[Assigned] = []
        self.first = self.end = 0

    @property
    def nets(self) -> list[int]:
        """Nets of the live bits."""
        base = self.index << 16
        return list(range(base + self.first, base + self.end))

    @property
    def operator(self) -> str:
        """Operator of an operator cell, otherwise empty."""
        return self.cell.operator if self.kind is nir.Operator else ""
