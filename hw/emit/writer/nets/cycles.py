"""Lists of assignments that depend on themselves, split into independent parts.

A struct whose fields depend on each other is one list in the netlist. As one variable of Verilog it
would be a combinational loop, although no bit depends on itself.
"""

from itertools import pairwise
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .nodes import Node
from .prepared import PreparedNetlist

__all__ = ["split_cycles"]

nir: Any = _nir  # no stub
COMBINATIONAL = (nir.Operator, nir.Part, nir.AsyncReadPort, nir.AssignmentList)


def split_cycles(prepared: PreparedNetlist) -> None:
    """Split the lists that depend on themselves, at the bounds of their assignments."""
    for node in [node for node in prepared.nodes if node.kind is nir.AssignmentList]:
        if node.assignments and depends_on_itself(prepared, node):
            split(prepared, node)
    for node in prepared.nodes:
        prepared.resolve_again(node)


def sources(prepared: PreparedNetlist, node: Node) -> set[int]:
    """Return the cells that a cell depends on combinationally."""
    if node.kind is nir.PriorityMatch or node.kind is nir.Matches:
        nets = [net for value in node.inputs for net in value]
    elif node.kind in COMBINATIONAL:
        nets = [net for value in node.inputs for net in value]
        nets += [net for one in node.assignments for net in (*one.value, one.condition)]
    else:
        return set()
    return {net >> 16 for net in nets if net > 1}


def depends_on_itself(prepared: PreparedNetlist, first: Node) -> bool:
    """Return whether a cell is among the cells that it depends on."""
    seen: set[int] = set()
    waiting = list(sources(prepared, first))
    while waiting:
        index = waiting.pop()
        if index == first.index:
            return True
        if index not in seen:
            seen.add(index)
            waiting += sources(prepared, prepared.nodes[index]) - seen
    return False


def split(prepared: PreparedNetlist, node: Node) -> None:
    """Replace a list by one for each range of bits that are assigned together."""
    width = len(node.inputs[0])
    bounds = {0, width}
    for one in node.assignments:
        bounds |= {one.start, one.start + len(one.value)}
    order = sorted(bounds)
    for first, end in pairwise(order):
        cell = nir.AssignmentList(
            node.module,
            default=node.cell.default[first:end],
            assignments=(),
            src_loc=node.cell.src_loc,
        )
        part = Node(len(prepared.nodes), cell)
        part.inputs = [node.inputs[0][first:end]]
        for one in node.assignments:
            inside = one.within(first, end)
            if inside is not None:
                inside.start -= first
                part.assignments.append(inside)
        prepared.nodes.append(part)
        base, new = node.index << 16, part.index << 16
        if part.assignments:
            for bit in range(end - first):
                prepared.replaced[base + first + bit] = new + bit
        else:
            prepared.replaced.update(
                zip(range(base + first, base + end), part.inputs[0], strict=True)
            )
