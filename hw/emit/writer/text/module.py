"""Text of one module."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from ..variables.names import Scope
from ..variables.naming import Naming
from ..variables.plan import Child, ModulePlan
from ..variables.variables import Variable
from .bit_names import BitNames
from .conditions import Conditions
from .layout import wrapped
from .memories import MemoryText
from .processes import ProcessText
from .source_lines import declared, source_line
from .tracing import OFF, ON

__all__ = ["ModuleText"]

nir: Any = _nir  # no stub
#: Names of what nothing reads; tools that report unread signals leave out these.
UNREAD, SINK = "unused_outputs", "unused"


@dataclass
class Item:
    """Part of a module: what it reads, and lines, or one assignment to a variable."""

    lines: list[str] = field(default_factory=list)
    reads: set[Variable] = field(default_factory=set)
    target: Variable | None = None
    value: str = ""


class ModuleText:
    """Text of one module.

    Parameters
    ----------
    plan : ModulePlan
    scope : Scope
        With the names of the ports and instances.

    """

    def __init__(self, plan: ModulePlan, scope: Scope):
        self.plan = plan
        for name in (UNREAD, SINK):
            scope.add(name)
        self.naming = Naming(plan, scope)
        self.homes = self.naming.homes
        for node in plan.memories:
            name = scope.add(node.cell.name or "memory")
            self.homes.memories[node.index] = Variable(name, 0, node.cell.width, [])
        self.names = BitNames(plan.signals, self.naming, scope)
        self.expressions = Conditions(plan, self.names)
        self.processes = ProcessText(plan, self.naming, self.expressions)
        self.memories = MemoryText(plan, self.naming, self.expressions)
        self.items: list[Item] = []
        self.unread_bits = 0
        #: Source line of each register, if the text names it.
        self.sources = {
            self.naming.variables[node.index]: source_line(node.cell)
            for node in plan.nodes
            if plan.has_source_lines
            and node.kind is nir.FlipFlop
            and node.index in self.naming.variables
        }
        self.add_assignments()
        for process in plan.processes:
            self.add_lines(self.processes.lines(process))
        for node in plan.nodes:
            self.add_lines(self.memories.port(node))
        for child in plan.children:
            self.add_lines(self.instance(child))
        self.add_outputs()
        self.add_aliases()

    def add_lines(self, lines: list[str]) -> None:
        """Add lines, if there are any, that read what the expressions have read."""
        if lines:
            self.items.append(Item(lines, self.expressions.used))
        self.expressions.used = set()

    def add_assignment(self, target: Variable, value: str) -> None:
        """Add the assignment of a variable, which reads what the expressions have read."""
        self.items.append(Item([], self.expressions.used, target, value))
        self.expressions.used = set()

    def add_assignments(self) -> None:
        """Add the cells with a variable of their own."""
        for node in self.plan.nodes:
            variable = self.naming.variables.get(node.index)
            if variable is not None and not variable.is_register:
                self.add_assignment(variable, self.expressions.inline(node).text)

    def instance(self, child: Child) -> list[str]:
        """Return the lines of an instance."""
        lines = [f"{child.module} {child.name} ("]
        for port, kind, nets in child.ports:
            place = None if kind == "input" else self.homes.where.get(nets[0])
            if kind == "input":
                text = self.expressions.text(nets)
            elif place is not None:
                text = place[0].bits(place[1], place[1] + len(nets))
            else:
                text = self.unread(len(nets))
            lines.append(wrapped(f".{port}({text}),", "    "))
        if child.ports:
            lines[-1] = lines[-1][:-1]
        return [*lines, "  );"]

    def unread(self, width: int) -> str:
        """Return new bits of the variable for outputs of instances that nothing reads."""
        first = self.unread_bits
        self.unread_bits += width
        return f"{UNREAD}[{first}]" if width == 1 else f"{UNREAD}[{first + width - 1}:{first}]"

    def add_outputs(self) -> None:
        """Add assignments of outputs that are not driven directly."""
        where = self.homes.where
        for port in self.plan.ports:
            is_driven = all(net > 1 and where[net][0] is port for net in port.nets if net in where)
            if port.port == "output" and not (is_driven and port.nets[0] in where):
                self.add_assignment(port, self.expressions.text(port.nets))

    def add_aliases(self) -> None:
        """Add the variables that stand for bits of others, also those that they read."""
        for alias in self.names.aliases:  # grows on the way
            if alias.source is None:
                text = self.expressions.text(alias.variable.nets)
                self.add_assignment(alias.variable, text)
            else:
                self.expressions.used.add(alias.source)
                text = alias.source.bits(alias.first, alias.end)
                self.add_assignment(alias.variable, text)

    def lines(self) -> list[str]:
        """Return the lines between the head and the end of the module."""
        lines = [f"  {text}" for text in self.names.parameters.values()]
        for variable in self.naming.variables.values():
            if variable.is_register and not variable.port:
                line = f"  reg {variable.range}{variable.name};"
                lines.append(declared(line, self.sources.get(variable)))
        wires = [*self.declarations(), *self.assignments(), *self.sink()]
        lines += [OFF, *wires, ON] if self.plan.is_simulated and wires else wires
        for item in self.items:
            if item.lines:
                lines += ["", f"  {item.lines[0]}", *item.lines[1:]]
        initial = [*self.processes.initial, *self.memories.initial()]
        if initial:
            lines += ["", "  initial begin"]
            lines += [*(wrapped(text, "    ") for text in initial), "  end"]
        return lines

    def declarations(self) -> Iterable[str]:
        """Yield the declarations of memories, and of outputs of instances."""
        yield from (f"  {text}" for text in self.memories.declarations())
        for variable in self.naming.composed:
            if not variable.port:
                yield f"  wire {variable.range}{variable.name};"
        if self.unread_bits:
            yield f"  wire [{self.unread_bits - 1}:0] {UNREAD};"

    def assignments(self) -> Iterable[str]:
        """Yield the assignments of variables, each after those that it reads."""
        first = {alias.variable for alias in self.names.aliases}
        items = [item for item in self.items if item.target is not None]
        for item in ordered(sorted(items, key=lambda item: item.target not in first)):
            target = item.target
            assert target is not None
            word = "assign " if target.port else f"wire {target.range}"
            text = wrapped(f"{word}{target.name} = {item.value};")
            is_recorded = self.plan.is_simulated and self.is_read_data(target)
            yield from [ON, text, OFF] if is_recorded else [text]

    def sink(self) -> Iterable[str]:
        """Yield the declaration that names all bits that nothing reads, if there are any."""
        variables = [port for port in self.plan.ports if port.port == "input"]
        variables += [one for one in self.naming.variables.values() if not one.port]
        variables += [one for one in self.naming.composed if not one.port]
        variables += [alias.variable for alias in self.names.aliases]
        parts = [
            variable.bits(first, end) for variable in variables for first, end in variable.unread
        ]
        if parts:
            yield wrapped(f"wire {SINK} = &{{1'b0, {', '.join(parts)}}};")

    def is_read_data(self, variable: Variable) -> bool:
        """Return whether a variable is what a memory without a clock reads."""
        node = self.plan.prepared.nodes[variable.nets[0] >> 16]
        return node.kind is nir.AsyncReadPort and self.naming.variables.get(node.index) is variable


def ordered(items: list[Item]) -> list[Item]:
    """Return assignments so that each variable is declared before it is read."""
    by_target = {item.target: item for item in items}
    done: set[int] = set()
    result: list[Item] = []
    for first in items:
        waiting = [(first, iter(sorted(first.reads, key=lambda one: one.name)))]
        if id(first) in done:
            continue
        done.add(id(first))
        while waiting:
            item, reads = waiting[-1]
            for variable in reads:
                earlier = by_target.get(variable)
                if earlier is not None and id(earlier) not in done:
                    done.add(id(earlier))
                    waiting.append((earlier, iter(sorted(earlier.reads, key=lambda v: v.name))))
                    break
            else:
                result.append(item)
                waiting.pop()
    return result
