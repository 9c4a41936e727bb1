"""Combinational dependencies between the nets of a netlist, bit by bit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

__all__ = ["HUB", "Dependencies"]

nir: Any = _nir  # no stub
item: Any = tuple.__getitem__  # a netlist value checks each index in Python
#: First number of a hub. All bits of a sum depend on the hub of its cell, and the hub depends on
#: all operands: ``2 n`` dependencies instead of ``n * n``.
HUB = 1 << 62
#: Cells without combinational paths from inputs to outputs, or without outputs.
SEQUENTIAL = (nir.Top, nir.Instance, nir.Memory, nir.SyncReadPort, nir.SyncWritePort)


class Dependencies:
    """Dependencies of the nets of one netlist.

    Nets are numbers, as in Amaranth: negative before they are resolved, 0 and 1 for constants,
    else cell and bit. Dependencies through instances of other modules are not known here.

    Parameters
    ----------
    netlist : Netlist
        Of one module.

    """

    def __init__(self, netlist: Any):
        self.cells: list[Any] = netlist.cells
        self.connections: Mapping[Any, Any] = netlist.connections
        self.assigned: dict[int, list[list[int]]] = {}

    def before(self, node: int) -> Sequence[int]:
        """Return the nets and hubs that a net or hub depends on directly."""
        if node >= HUB:
            return operands(self.cells[node - HUB])
        if node < 0:
            return (self.connections[node],)
        if node < 2:
            return ()
        index, bit = node >> 16, node & 0xFFFF
        cell = self.cells[index]
        kind = type(cell)
        if kind is nir.Operator:
            inputs = cell.inputs
            if len(inputs) == 3:
                return (item(inputs[0], 0), item(inputs[1], bit), item(inputs[2], bit))
            if cell.operator in ("&", "|", "^") and len(inputs) == 2:
                return (item(inputs[0], bit), item(inputs[1], bit))
            if cell.operator == "~":
                return (item(inputs[0], bit),)
            return (HUB + index,)
        if kind is nir.AssignmentList:
            if index not in self.assigned:
                self.assigned[index] = assigned_bits(cell)
            return self.assigned[index][bit]
        if kind in (nir.Part, nir.Matches, nir.AsyncReadPort):
            return (HUB + index,)
        return [net for net, _ in cell.comb_edges_to(bit)]

    def has_cycle(self) -> bool:
        """Return whether any net depends on itself.

        Most modules have no cycle of whole cells, and so none of nets.
        """
        return self.has_cell_cycle() and self.has_net_cycle()

    def has_cell_cycle(self) -> bool:
        """Return whether any cell depends on itself, if each output depends on all inputs."""
        earlier = self.earlier_cells()
        if earlier is None:
            return True
        begun, ended = bytearray(len(earlier)), bytearray(len(earlier))
        for first in range(len(earlier)):
            waiting = [first]
            while waiting:
                cell = waiting[-1]
                if begun[cell]:
                    ended[cell] = True
                    waiting.pop()
                    continue
                begun[cell] = True
                for one in earlier[cell]:
                    if not begun[one]:
                        waiting.append(one)
                    elif not ended[one]:
                        return True
        return False

    def earlier_cells(self) -> list[set[int]] | None:
        """Return the cells that each cell depends on; None if signals only drive each other."""
        drivers: dict[int, int] = {}
        for net, driver in self.connections.items():
            if driver < 0:
                for _ in self.connections:
                    driver = self.connections[driver]
                    if driver >= 0:
                        break
                else:
                    return None
            drivers[net] = driver >> 16
        return [
            {drivers[net] if net < 0 else net >> 16 for net in combinational_inputs(cell)}
            for cell in self.cells
        ]

    def has_net_cycle(self) -> bool:
        """Return whether any net depends on itself, bit by bit.

        Each cycle contains the net of a signal, which has a number before its driver is known.
        """
        before = self.before
        begun: set[int] = set()
        ended: set[int] = {0, 1}
        for net, driver in self.connections.items():
            if driver in ended:
                ended.add(net)
                continue
            waiting = [net]
            while waiting:
                node = waiting[-1]
                if node in ended:
                    waiting.pop()
                    continue
                if node in begun:  # all that it depends on has ended meanwhile
                    begun.remove(node)
                    ended.add(node)
                    continue
                missing = [earlier for earlier in before(node) if earlier not in ended]
                if not missing:
                    ended.add(node)
                    continue
                begun.add(node)
                if not begun.isdisjoint(missing):
                    return True
                waiting += missing
        return False


def combinational_inputs(cell: Any) -> Iterable[int]:
    """Return the nets that any output of a cell depends on."""
    if isinstance(cell, nir.FlipFlop):
        return (cell.clk, cell.arst)
    return () if isinstance(cell, SEQUENTIAL) else cell.input_nets()


def operands(cell: Any) -> list[int]:
    """Return the nets that every bit of a cell depends on."""
    if isinstance(cell, nir.Operator):
        return [net for value in cell.inputs for net in value]
    if isinstance(cell, nir.AsyncReadPort):
        return list(cell.addr)
    return [*cell.value, *(cell.offset if isinstance(cell, nir.Part) else ())]


def assigned_bits(cell: Any) -> list[list[int]]:
    """Return the nets that each bit of a list of assignments depends on."""
    bits = [[net] for net in cell.default]
    for assignment in cell.assignments:
        condition = assignment.cond
        for bit, net in enumerate(assignment.value, assignment.start):
            bits[bit] += (condition, net)
    return bits
