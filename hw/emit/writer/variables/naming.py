"""Variables of a module: which nets get one, and their names."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from ..nets.nodes import Node
from ..nets.operands import values_in, values_of
from .names import Scope, identifier, plain
from .plan import IN_PLACE, ModulePlan
from .signals import NamedSignal
from .variables import Homes, Variable

__all__ = ["Naming"]

nir: Any = _nir  # no stub
#: Names of results of operators without a signal.
RESULTS = {
    "+": "sum", "-": "difference", "*": "product", "&": "both", "|": "either", "^": "parity",
    "~": "inverse", "==": "equal", "!=": "differs", "<<": "shifted", "u>>": "shifted",
    "s>>": "shifted", "m": "selected", "r|": "any", "r&": "all", "r^": "odd", "b": "any",
    "u<": "less", "s<": "less", "u>": "greater", "s>": "greater",
}  # fmt: skip


class Naming:
    """Variables of a module.

    Parameters
    ----------
    plan : ModulePlan
    scope : Scope
        With the names of the ports.

    Attributes
    ----------
    homes : Homes
    variables : dict of int to Variable
        By the index of the cell that drives them, or of the register.
    composed : list of Variable
        Variables of several drivers.
    anonymous : int
        Number of variables without a name of the source.

    """

    def __init__(self, plan: ModulePlan, scope: Scope):
        self.plan, self.scope = plan, scope
        self.homes = Homes()
        self.variables: dict[int, Variable] = {}
        self.composed: list[Variable] = []
        self.anonymous = 0
        #: Best signal with exactly the nets of a key.
        self.exact: dict[tuple[int, ...], NamedSignal] = {}
        for signal in plan.signals:
            key = tuple(signal.nets)
            known = self.exact.get(key)
            if known is None or self.rank(signal) < self.rank(known):
                self.exact[key] = signal
        self.outputs = {tuple(port.nets): port for port in plan.ports if port.port == "output"}
        for port in plan.ports:
            if port.port == "input":
                self.homes.add(port)
        self.inner: dict[int, list[tuple[NamedSignal, int]]] = defaultdict(list)
        for signal in plan.signals:
            for place, net in enumerate(signal.nets):
                if net > 1 and (place == 0 or signal.nets[place - 1] != net - 1):
                    self.inner[net].append((signal, place))
        self.place()

    @staticmethod
    def rank(signal: NamedSignal) -> tuple:
        """Return the rank of a signal as a name; the lowest is the best."""
        return (signal.read_count == 0, not signal.is_own, -signal.read_count)

    def place(self) -> None:
        """Give all drivers of the module a variable, but those that are written in place."""
        plan = self.plan
        for node in plan.nodes:
            if node.kind is nir.FlipFlop:
                self.add(node, "register", is_register=True)
            elif node.kind is nir.SyncReadPort:
                self.add(node, "read_data", is_register=True)
            elif node.kind not in IN_PLACE or node.index in plan.merged or self.is_in_place(node):
                continue
            elif node.kind is nir.AssignmentList:
                self.add(node, "value", is_register=not plan.is_expression(node))
            else:
                self.add(node, RESULTS.get(node.operator, "value"), is_register=False)
        self.place_instances()

    def is_in_place(self, node: Node) -> bool:
        """Return whether a cell is written where it is used."""
        plan = self.plan
        if plan.is_simulated and node.kind is nir.AsyncReadPort:  # waveforms have read data
            return False
        if node.index in plan.partial or (node.kind is nir.Part and node.cell.stride == 0):
            return False
        if node.kind is nir.AssignmentList and not plan.is_expression(node):
            return False
        signal = self.exact.get(full(node))
        if signal is not None and signal.read_count and signal.is_own:
            return False
        if plan.uses[node.index] > 1:
            return plan.is_cheap(node)
        if tuple(node.nets) in self.outputs:
            return False
        if node.kind is nir.Operator and node.operator == "*":
            return False
        return plan.uses[node.index] == 1

    def add(self, node: Node, hint: str, *, is_register: bool) -> None:
        """Give the live bits of a cell a variable."""
        index, nets = node.index, node.nets
        signal = self.exact.get(full(node))
        port = self.outputs.get(tuple(nets))
        if (
            port is not None
            and nets[0] not in self.homes.where
            and (
                signal is None
                or not signal.read_count
                or port.signal is signal
                or not signal.is_own
            )
        ):
            port.is_register = is_register
            self.homes.add(port)
            self.variables[index] = port
            return
        first, end = node.first, node.end
        if signal is not None:
            name = signal.name
        else:
            name, first, end = self.inner_name(nets, hint), 0, len(nets)
        variable = Variable(self.scope.add(name), first, end, list(nets), signal, is_register)
        self.variables[index] = variable
        self.homes.add(variable)

    def inner_name(self, nets: Sequence[int], hint: str) -> str:
        """Return a name after a signal that contains nets, or `hint`."""
        count = len(nets)
        best = None
        for signal, place in self.inner.get(nets[0], ()):
            if signal.nets[place : place + count] == list(nets):
                field = signal.fields.get((place, place + count))
                rank = (field is None, *self.rank(signal))
                if best is None or rank < best[0]:
                    best = (rank, field or f"{signal.name}_{hint}")
        if best is not None:
            return best[1]
        reader = self.reader_name(nets[0] >> 16)
        if reader is not None:
            return f"{reader}_{hint}"
        self.anonymous += 1
        return hint

    @cached_property
    def readers(self) -> dict[int, int | str]:
        """First reader of each cell: another cell, or the name of a port."""
        plan = self.plan
        readers: dict[int, int | str] = {}
        for port in plan.ports:
            if port.port == "output":
                for net in port.nets:
                    readers.setdefault(net >> 16, port.name)
        for process in plan.processes:
            target = process.members[0][0].index
            for value in (*process.defaults, *values_in(process.tree)):
                for net in value:
                    readers.setdefault(net >> 16, target)
        for node in plan.nodes:
            if node.kind is not nir.Instance:
                for value in values_of(node):
                    for net in value:
                        readers.setdefault(net >> 16, node.index)
        for child in plan.children:
            for name, kind, nets in child.ports:
                if kind == "input":
                    for net in nets:
                        readers.setdefault(net >> 16, f"{child.name}__{name}")
        return readers

    def reader_name(self, index: int) -> str | None:
        """Return the name of what reads a cell, through cells without a name."""
        for _ in range(8):
            reader = self.readers.get(index)
            if reader is None or isinstance(reader, str):
                return reader
            node = self.plan.prepared.nodes[reader]
            node = self.plan.merged.get(reader, node)
            if node.kind in (nir.SyncWritePort, nir.SyncReadPort, nir.AsyncReadPort):
                memory = self.plan.prepared.nodes[node.cell.memory]
                return identifier(memory.cell.name or "memory")
            signal = self.exact.get(full(node))
            if signal is not None:
                return signal.name
            index = reader
        return None

    def place_instances(self) -> None:
        """Give the outputs of instances and of modules below variables."""
        used = self.plan.used_nets()
        for child in self.plan.children:
            for port, kind, nets in child.ports:
                if kind == "input" or used.isdisjoint(nets):
                    continue
                if all(net in self.homes.where for net in nets):
                    continue
                output = self.outputs.get(tuple(nets))
                signal = self.exact.get(tuple(nets))
                if output is not None and not (
                    signal is not None and signal.read_count and signal.is_own
                ):
                    self.homes.add(output)
                    self.composed.append(output)
                    continue
                name = f"{child.name}__{plain(port)}"
                variable = Variable(self.scope.add(name), 0, len(nets), list(nets), signal)
                self.homes.add(variable)
                self.composed.append(variable)


def full(node: Node) -> tuple[int, ...]:
    """Return all nets of a cell with one output, dead ones included."""
    kind, cell = node.kind, node.cell
    if kind is nir.AssignmentList:
        width = len(cell.default)
    elif kind is nir.FlipFlop:
        width = len(cell.data)
    else:
        width = cell.width
    base = node.index << 16
    return tuple(range(base, base + width))
