"""Faults of single cells of Amaranth's netlist, each of which changes what the design does."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

__all__ = ["faults_of", "planted"]

nir: Any = _nir  # no stub
#: Operator that takes the place of each.
OTHER = {
    "+": "-", "-": "+", "*": "+", "&": "|", "|": "&", "^": "|", "r|": "r&", "r&": "r|",
    "r^": "r|", "b": "r&", "==": "!=", "!=": "==", "u<": "u<=", "u>": "u>=", "u<=": "u<",
    "u>=": "u>", "s<": "u<", "s>": "u>", "s<=": "u<=", "s>=": "u>=", "<<": "u>>", "u>>": "s>>",
    "s>>": "u>>", "u//": "u%", "u%": "u//",
}  # fmt: skip
#: The same for operators with one operand.
UNARY = {"~": "-", "-": "~"}


def turned(value: Any) -> Any:
    """Return a value whose bits are rotated by one."""
    return nir.Value([*value[1:], value[0]])


def changes_of(cell: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield faults of a cell: in words, and attributes with new values."""
    kind = type(cell)
    if kind is nir.Operator:
        yield from operator_changes(cell)
    elif kind is nir.AssignmentList and cell.assignments:
        yield "the last assignment is missing", {"assignments": cell.assignments[:-1]}
        yield "the default is rotated", {"default": turned(cell.default)}
        last = copy.copy(cell.assignments[-1])
        last.value = nir.Value([
            nir.Net.from_const(1 - bit) if bit < 2 else bit for bit in last.value
        ])
        if last.value == cell.assignments[-1].value:
            last.value = turned(last.value)
        yield "the last value is another", {"assignments": [*cell.assignments[:-1], last]}
    elif kind is nir.Matches:
        first, *rest = cell.patterns
        place = max(first.find("0"), first.find("1"))
        bit = "1" if first[place] == "0" else "0"
        pattern = f"{first[:place]}{bit}{first[place + 1 :]}"
        yield "a bit of the pattern is inverted", {"patterns": (pattern, *rest)}
    elif kind is nir.Part:
        yield "the offset is rotated", {"offset": turned(cell.offset)}
        yield "the value is rotated", {"value": turned(cell.value)}
    elif kind is nir.FlipFlop:
        yield "the data is rotated", {"data": turned(cell.data)}
        yield "the initial value is another", {"init": cell.init ^ 1}
        yield "the other clock edge counts", {"clk_edge": "neg"}
    elif kind is nir.Memory:
        yield "an initial word is another", {"init": (cell.init[0] ^ 1, *cell.init[1:])}
        yield "there is one word less", {"depth": cell.depth - 1, "init": cell.init[:-1]}
    elif kind is nir.SyncWritePort:
        for name in ("addr", "data", "en"):
            yield f"{name} is rotated", {name: nir.Value(reversed(getattr(cell, name)))}
        yield "the other clock edge counts", {"clk_edge": "neg"}
    elif kind in (nir.SyncReadPort, nir.AsyncReadPort):
        yield "the address is rotated", {"addr": turned(cell.addr)}
        if kind is nir.SyncReadPort:
            yield "it is always enabled", {"en": nir.Net.from_const(1)}
    elif kind is nir.Instance:
        (one, first), (other, second) = [pair for pair in cell.ports_i.items() if len(pair[1]) > 1]
        yield "two inputs are exchanged", {"ports_i": {**cell.ports_i, one: second, other: first}}
        yield "it is of another module", {"type": "another"}
    elif kind is nir.Top:
        (one, first), (other, second) = list(cell.ports_o.items())[:2]
        yield "two outputs are exchanged", {"ports_o": {**cell.ports_o, one: second, other: first}}


def operator_changes(cell: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield faults of an operator."""
    inputs = cell.inputs
    if cell.operator == "m":
        yield "the values are exchanged", {"inputs": (inputs[0], inputs[2], inputs[1])}
        return
    other = (UNARY if len(inputs) == 1 and cell.operator in UNARY else OTHER)[cell.operator]
    yield f"{cell.operator} is {other}", {"operator": other}
    if cell.operator in ("-", "u<", "s<", "u//") and len(inputs) == 2:
        yield f"operands of {cell.operator} are exchanged", {"inputs": (inputs[1], inputs[0])}
    if len(inputs) == 2 and all(net < 2 for net in inputs[1]):
        first, *rest = inputs[1]
        constant = nir.Value([nir.Net.from_const(1 - first), *rest])
        yield f"the constant of {cell.operator} is another", {"inputs": (inputs[0], constant)}


def faults_of(netlist: Any) -> list[tuple[int, str, dict[str, Any]]]:
    """Return the faults of all cells: index, the fault in words, and attributes."""
    return [
        (index, f"{type(cell).__name__} {index}: {words}", change)
        for index, cell in enumerate(netlist.cells)
        for words, change in changes_of(cell)
        if any(getattr(cell, name) != value for name, value in change.items())
    ]


@contextmanager
def planted(netlist: Any, index: int, change: dict[str, Any]) -> Iterator[None]:
    """Replace attributes of a cell."""
    whole = netlist.cells[index]
    netlist.cells[index] = faulty = copy.copy(whole)
    for name, value in change.items():
        setattr(faulty, name, value)
    try:
        yield
    finally:
        netlist.cells[index] = whole
