"""Netlist without renaming cells and constant logic, and the bits of each cell that are live."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .boundary import Boundary
from .constants import folded, number
from .nodes import Assigned, Node

__all__ = ["PreparedNetlist", "inputs_of"]

nir: Any = _nir  # no stub
item: Any = tuple.__getitem__
#: Operators of which each bit depends on one bit of each operand, or on these and the selection.
BITWISE = {"~", "&", "|", "^", "m"}
#: Operators of which the low bits depend only on the low bits of the operands.
CARRYING = {"+", "-", "*"}


class PreparedNetlist:
    """Cells of a netlist as nodes.

    Parameters
    ----------
    netlist : Netlist
        With resolved nets.
    boundary : Boundary
        Ports of the top, which are its operands.

    Attributes
    ----------
    nodes : list of Node
        By the index of their cells; the first is the top.

    """

    def __init__(self, netlist: Any, boundary: Boundary):
        self.netlist, self.boundary = netlist, boundary
        self.replaced: dict[int, int] = {}
        self.nodes = [Node(index, cell) for index, cell in enumerate(netlist.cells)]
        self.fold_assignments()
        for node in self.nodes:
            self.resolve(node)
        while self.fold_operators():
            for node in self.nodes:
                self.resolve_again(node)

    def net(self, net: int) -> int:
        """Return the net that stands for `net`."""
        replaced = self.replaced
        while net in replaced:
            net = replaced[net]
        return net

    def value(self, value: Iterable[int]) -> list[int]:
        """Return the nets that stand for those of a value."""
        replaced, nets = self.replaced, []
        if replaced.keys().isdisjoint(value):
            return list(value)
        for net in value:
            while net in replaced:
                net = replaced[net]
            nets.append(net)
        return nets

    def fold_assignments(self) -> None:
        """Replace the nets of assignment lists without a condition by those that they assign."""
        for node in self.nodes:
            if node.kind is not nir.AssignmentList:
                continue
            default, rest = list(node.cell.default), list(node.cell.assignments)
            while rest and rest[0].cond == 1:
                first = rest.pop(0)
                default[first.start : first.start + len(first.value)] = first.value
            node.inputs = [default]
            node.assignments = [Assigned(one.cond, one.start, list(one.value)) for one in rest]
            if not rest:
                base = node.index << 16
                self.replaced.update(zip(range(base, base + len(default)), default, strict=True))

    def resolve(self, node: Node) -> None:
        """Give a node its inputs."""
        cell, kind = node.cell, node.kind
        if kind is nir.AssignmentList:
            node.inputs = [self.value(node.inputs[0])]
            for one in node.assignments:
                one.value = self.value(one.value)
        elif kind is nir.Operator:
            node.inputs = [self.value(value) for value in cell.inputs]
        elif kind is nir.Part:
            node.inputs = [self.value(cell.value), self.value(cell.offset)]
        elif kind is nir.Matches:
            node.inputs = [self.value(cell.value)]
        elif kind is nir.PriorityMatch:
            node.inputs = [[cell.en], self.value(cell.inputs)]
        elif kind is nir.FlipFlop:
            node.inputs = [self.value(cell.data), [self.net(cell.clk)], [self.net(cell.arst)]]
        elif kind is nir.SyncWritePort:
            node.inputs = [
                self.value(value) for value in (cell.data, cell.addr, cell.en, [cell.clk])
            ]
        elif kind is nir.SyncReadPort:
            node.inputs = [self.value(value) for value in (cell.addr, [cell.en], [cell.clk])]
        elif kind is nir.AsyncReadPort:
            node.inputs = [self.value(cell.addr)]
        elif kind is nir.Instance:
            if node.index not in self.boundary.outside:
                node.inputs = [self.value(value) for value in cell.ports_i.values()]
        elif kind is nir.Top:
            node.inputs = [self.value(value) for value in self.boundary.outputs.values()]
        elif kind is not nir.Memory:
            raise NotImplementedError(f"{kind.__name__} has no Verilog")

    def fold_operators(self) -> bool:
        """Replace the nets of operators with constant results; return whether there were any."""
        before = len(self.replaced)
        for node in self.nodes:
            base = node.index << 16
            if node.kind is nir.Part and base not in self.replaced:
                result = selected(node)
                self.replaced.update(zip(range(base, base + len(result)), result, strict=False))
            if node.kind is nir.Operator and base not in self.replaced:
                result = folded(node.cell.operator, node.inputs)
                if result is not None and base not in result:
                    nets = range(base, base + len(result))
                    self.replaced.update(zip(nets, self.value(result), strict=True))
        return len(self.replaced) > before

    def resolve_again(self, node: Node) -> None:
        """Resolve the inputs of a node after more nets have been replaced."""
        replaced = self.replaced.keys()
        if node.kind is not nir.PriorityMatch:
            for place, value in enumerate(node.inputs):
                if not replaced.isdisjoint(value):
                    node.inputs[place] = self.value(value)
        for one in node.assignments:
            if not replaced.isdisjoint(one.value):
                one.value = self.value(one.value)

    def find_live(self) -> None:
        """Find the live bits: those that outputs of the module depend on, or of an instance."""
        writes: dict[int, list[Node]] = {}
        waiting: list[Sequence[int]] = []
        for node in self.nodes:
            if node.kind in (nir.Top, nir.Instance):
                waiting += node.inputs
            elif node.kind is nir.SyncWritePort:
                writes.setdefault(node.cell.memory, []).append(node)
        while waiting:
            for index, low, high in ranges(waiting.pop()):
                node = self.nodes[index]
                first, end = node.first, node.end
                if (first <= low and high <= end) or node.kind in (nir.Top, nir.Instance):
                    continue
                if first == end:
                    first = end = low
                    if node.kind in (nir.SyncReadPort, nir.AsyncReadPort):
                        self.nodes[node.cell.memory].end = 1
                        for write in writes.get(node.cell.memory, ()):
                            write.end = 1
                            waiting += write.inputs
                low, high = widened(node, low, high)
                node.first, node.end = min(first, low), max(end, high)
                for start, stop in ((node.first, first), (end, node.end)):
                    if start < stop:
                        waiting += inputs_of(node, start, stop)


def ranges(nets: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield cell, first bit and end of neighbouring bits of one cell, without constants."""
    count = len(nets)
    if not count:
        return
    net = nets[0]
    is_long = count > 4 and net > 1 and nets[-1] - net == count - 1
    if is_long and list(nets) == list(range(net, net + count)):
        yield net >> 16, net & 0xFFFF, (net & 0xFFFF) + count
        return
    place = 0
    while place < count:
        net = nets[place]
        place += 1
        if net < 2:
            continue
        start = net
        while place < count and nets[place] == net + 1 and net & 0xFFFF != 0xFFFF:
            net += 1
            place += 1
        yield start >> 16, start & 0xFFFF, (net & 0xFFFF) + 1


def selected(node: Node) -> list[int]:
    """Return the bits that a part has at a constant place; empty if the place is not constant."""
    value, offset = node.inputs
    if any(net > 1 for net in offset):
        return []
    cell = node.cell
    first = cell.stride * number(offset)
    nets = [*value[first : first + cell.width], *[0] * cell.width]
    return nets[: cell.width]


def widened(node: Node, low: int, high: int) -> tuple[int, int]:
    """Return the range of bits that are written if some are: an operator has no parts."""
    if node.kind is nir.Operator and node.cell.operator not in BITWISE:
        carries = node.cell.operator in CARRYING or node.cell.operator == "<<"
        return 0, high if carries else node.cell.width
    if node.kind in (nir.Part, nir.AsyncReadPort, nir.SyncReadPort):
        return 0, node.cell.width
    return low, high


def inputs_of(node: Node, low: int, high: int) -> Sequence[Sequence[int]]:
    """Return the values that bits `low` to `high` of a node depend on."""
    kind, inputs = node.kind, node.inputs
    if kind is nir.Operator:
        operator = node.cell.operator
        if operator == "m":
            return [inputs[0], inputs[1][low:high], inputs[2][low:high]]
        if operator in BITWISE:
            return [value[low:high] for value in inputs]
        if operator in CARRYING:
            return [value[:high] for value in inputs]
        if operator == "<<":
            return [inputs[0][:high], inputs[1]]
        return inputs
    if kind is nir.AssignmentList:
        values: list[Sequence[int]] = [inputs[0][low:high]]
        for one in node.assignments:
            part = one.within(low, high)
            if part is not None:
                values += (part.value, [part.condition])
        return values
    if kind is nir.FlipFlop:
        return [inputs[0][low:high], *inputs[1:]]
    if kind is nir.PriorityMatch:
        return [inputs[0], inputs[1][:high]]
    if kind is nir.Matches:
        patterns = node.cell.patterns
        return [
            [
                net
                for place, net in enumerate(inputs[0])
                if any(pattern[-1 - place] != "-" for pattern in patterns)
            ]
        ]
    return inputs
