"""Numbers of instances of modules."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

# Private, and there is no public form of a module's instances between fragment and text.
from amaranth.hdl import _nir

__all__ = ["instances_in", "total_instances"]

nir: Any = _nir  # no stub


def instances_in(netlist: Any) -> dict[str, int]:
    """Return the number of instances of each module that a netlist has only by its name."""
    return dict(Counter(cell.type for cell in netlist.cells if isinstance(cell, nir.Instance)))


def total_instances(top: str, children: Mapping[str, Mapping[str, int]]) -> Counter:
    """Return the number of instances of each module below `top`."""
    totals: Counter = Counter()

    def visit(name: str, times: int):
        totals[name] += times
        for child, count in children.get(name, {}).items():
            visit(child, times * count)

    visit(top, 1)
    return totals
