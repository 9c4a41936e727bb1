"""Plan of a module: its processes, and the cells that are written where they are read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from ..nets.choices import is_short
from ..nets.grouping import Grouping
from ..nets.nodes import Node
from ..nets.operands import values_in, values_of
from ..nets.prepared import PreparedNetlist
from .signals import NamedSignal
from .variables import Variable

__all__ = ["IN_PLACE", "Child", "ModulePlan"]

nir: Any = _nir  # no stub
#: Cells with one output that may be written in place.
IN_PLACE = (nir.Operator, nir.Part, nir.AsyncReadPort, nir.AssignmentList)


@dataclass(frozen=True)
class Child:
    """Instance of a module: its name, that of the module, and its ports with their nets."""

    name: str
    module: str
    ports: list[tuple[str, str, list[int]]]  #: name, ``input`` or ``output``, nets


class ModulePlan:
    """Plan of one module.

    Parameters
    ----------
    prepared : PreparedNetlist
    nodes : list of Node
        Live cells of the module, with instances.
    signals : list of NamedSignal
    ports : list of Variable
    children : list of Child
    index : int
        Of the module.
    is_simulated : bool
        Whether the text is for a simulator only.
    has_source_lines : bool
        Whether the text names the source line of each register.

    """

    def __init__(
        self,
        prepared: PreparedNetlist,
        nodes: list[Node],
        signals: list[NamedSignal],
        ports: list[Variable],
        children: list[Child],
        index: int,
        is_simulated: bool = False,
        has_source_lines: bool = False,
    ):
        self.index = index
        self.prepared, self.nodes, self.signals = prepared, nodes, signals
        self.ports, self.children = ports, children
        self.is_simulated, self.has_source_lines = is_simulated, has_source_lines
        #: Write ports with enables of parts that write whole words.
        self.by_words = {
            node.index for node in nodes if is_simulated and is_written_by_words(node, nodes)
        }
        self.memories = [
            node
            for node in prepared.nodes
            if node.kind is nir.Memory and node.end and node.module == index
        ]
        grouping = Grouping(prepared, nodes, self.outside_values())
        self.processes, self.merged = grouping.processes, grouping.merged
        self.process_of = {
            node.index: process for process in self.processes for node, _ in process.members
        }
        self.uses: Counter[int] = Counter()
        self.partial: set[int] = set()
        for value in self.read_values():
            self.count(value)

    def read_values(self) -> Iterator[Sequence[int]]:
        """Yield all values that the text of the module reads."""
        for node in self.nodes:
            if node.kind not in (nir.AssignmentList, nir.FlipFlop):
                yield from values_of(node)
            if node.index in self.by_words:  # once more for the word that is kept
                _, address, enable, _ = node.inputs
                yield address
                yield from ([net] for net in enable)
        for process in self.processes:
            yield from process.defaults
            yield [process.clock]
            yield [process.reset]
            yield from values_in(process.tree)
        yield from self.outside_values()

    def outside_values(self) -> Iterator[Sequence[int]]:
        """Yield the values that modules below read, and those of the outputs."""
        for child in self.children:
            yield from (nets for _, kind, nets in child.ports if kind == "input")
        yield from (port.nets for port in self.ports if port.port == "output")

    def count(self, value: Sequence[int]) -> None:
        """Count the uses of cells by one value."""
        nodes, place, count = self.prepared.nodes, 0, len(value)
        while place < count:
            net = value[place]
            node = nodes[net >> 16]
            place += 1
            if net < 2 or node.kind not in IN_PLACE:
                continue
            width = node.end - node.first
            self.uses[node.index] += 1
            if width == 1:
                while place < count and value[place] == net:
                    place += 1
            elif net & 0xFFFF == node.first and (
                list(value[place - 1 : place - 1 + width]) == node.nets
            ):
                place += width - 1
            else:
                self.partial.add(node.index)

    def used_nets(self) -> set[int]:
        """Return the nets that the text of the module reads."""
        return {net for value in self.read_values() for net in value if net > 1}

    def is_expression(self, node: Node) -> bool:
        """Return whether a list of assignments is written as a conditional expression."""
        process = self.process_of[node.index]
        return is_short(process.tree, node)

    def is_cheap(self, node: Node) -> bool:
        """Return whether a cell may be written at each of its uses."""
        if node.kind is not nir.Operator or self.uses[node.index] > 4:
            return False
        operator = node.operator
        if operator == "~":
            value = node.inputs[0][node.first : node.end]
            return all(net < 2 or net == value[0] + place for place, net in enumerate(value))
        if operator in ("==", "!="):
            left, right = node.inputs
            return all(net < 2 for net in right) and len(left) < 12
        return False


def is_written_by_words(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether a write port may write whole words: it has parts, and no other port writes.

    Another port could write other parts of the same word in the same cycle.
    """
    if node.kind is not nir.SyncWritePort or not node.end or len(set(node.inputs[2])) == 1:
        return False
    memory = node.cell.memory
    return all(
        other is node
        or not other.end
        or other.kind is not nir.SyncWritePort
        or other.cell.memory != memory
        for other in nodes
    )
