"""Processes of a module: registers and lists of assignments that are written together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .choices import Assigned, Choice, Paths, Transfer, choice_tree, live_assignments
from .nodes import Node
from .operands import values_of
from .prepared import PreparedNetlist

__all__ = ["Grouping", "Process"]

nir: Any = _nir  # no stub


@dataclass
class Process:
    """Registers with one clock and the same conditions, or lists with the same conditions.

    Parameters
    ----------
    members : list of (Node, list of Assigned)
        Register or list, and its assignments.
    clock, reset : int
        Nets; 0 if there is none.
    defaults : list of list of int
        Values before all assignments; those of a register may be the register itself.

    """

    members: list[tuple[Node, list[Assigned]]] = field(default_factory=list)
    clock: int = 0
    edge: str = "pos"
    reset: int = 0
    defaults: list[list[int]] = field(default_factory=list)
    tree: list[Transfer | Choice] = field(default_factory=list)


class Grouping:
    """Processes of a module.

    Registers with one clock and the same outermost choices are one process. A list of assignments
    that only a register reads is part of its process; others are processes of their own.

    Parameters
    ----------
    prepared : PreparedNetlist
    nodes : list of Node
        Cells of the module.
    outside : iterable of sequence of int
        Values that others than cells read: ports and modules below.

    Attributes
    ----------
    processes : list of Process
    merged : dict of int to Node
        Register by the index of the list that only it reads.

    """

    def __init__(
        self, prepared: PreparedNetlist, nodes: list[Node], outside: Iterable[Sequence[int]]
    ):
        self.prepared = prepared
        self.paths = Paths(prepared)
        #: Nets of the resets of clock domains.
        self.resets = {
            start
            for name, (start, width) in prepared.netlist.top.ports_i.items()
            if width == 1 and name.rpartition("_")[2] == "rst"
        }
        self.processes: list[Process] = []
        self.merged: dict[int, Node] = {}
        self.groups: dict[Any, Process] = {}
        self.readers: Counter[int] = Counter()
        for value in (*outside, *(value for node in nodes for value in values_of(node))):
            self.readers.update({net >> 16 for net in value if net > 1})
        for node in nodes:
            if node.kind is nir.FlipFlop:
                self.add_register(node)
        for node in nodes:
            if node.kind is nir.AssignmentList and node.index not in self.merged:
                self.add_list(node)
        for process in self.processes:
            process.tree = choice_tree(prepared, self.paths, process.members)

    def add_register(self, node: Node) -> None:
        """Add a register to the process of its group."""
        data = node.inputs[0][node.first : node.end]
        source = self.prepared.nodes[data[0] >> 16]
        assigned: list[Assigned] = []
        reset = 0
        if (
            source.kind is nir.AssignmentList
            and source.module == node.module
            and self.readers[source.index] == 1
            and data == [source.index << 16 | bit for bit in range(node.first, node.end)]
            and (source.first, source.end) == (node.first, node.end)
        ):
            self.merged[source.index] = node
            assigned = live_assignments(source)
            data = source.inputs[0][node.first : node.end]
            reset = self.reset_of(assigned, node)
            assigned = assigned[:-1] if reset else assigned
        clock = node.inputs[1][0]
        outermost = self.paths.outermost(assigned)
        key = (clock, node.cell.clk_edge, reset, node.index if outermost is None else outermost)
        process = self.groups.get(key)
        if process is None:
            process = self.groups[key] = Process(clock=clock, edge=node.cell.clk_edge, reset=reset)
            self.processes.append(process)
        process.members.append((node, assigned))
        process.defaults.append(data)

    def reset_of(self, assigned: Sequence[Assigned], node: Node) -> int:
        """Return the net of a synchronous reset if the last assignment is one, otherwise 0."""
        if not assigned:
            return 0
        last = assigned[-1]
        initial = [node.cell.init >> bit & 1 for bit in range(node.first, node.end)]
        if list(last.value) != initial or last.condition < 2:
            return 0
        choice = self.prepared.nodes[last.condition >> 16]
        enable, tests = choice.inputs
        if enable != [1] or len(tests) != 1 or tests[0] < 2:
            return 0
        match = self.prepared.nodes[tests[0] >> 16]
        reset = match.inputs[0]
        is_reset = len(reset) == 1 and match.cell.patterns == ("1",)
        return reset[0] if is_reset and reset[0] in self.resets else 0

    def add_list(self, node: Node) -> None:
        """Add a process of one list of assignments."""
        process = Process(members=[(node, live_assignments(node))])
        process.defaults.append(node.inputs[0][node.first : node.end])
        self.processes.append(process)
