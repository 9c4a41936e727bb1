"""Verilog of one conversion: a module and the ordinary components in it."""

from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .cell_places import CellPlaces, ModulePlaces
from .nets.boundary import Boundary
from .nets.built import BuiltNetlist
from .nets.cycles import split_cycles
from .nets.flows import net_flows
from .nets.prepared import PreparedNetlist
from .recorded import places_of
from .text.heads import head_of
from .text.module import ModuleText
from .text.source_lines import declared
from .variables.names import Scope, escaped, identifier, plain
from .variables.plan import Child, ModulePlan
from .variables.ports import nested_ports
from .variables.signals import signals_of
from .variables.variables import Variable

__all__ = ["Conversion"]

nir: Any = _nir  # no stub


class Conversion:
    """Conversion of a netlist to modules of Verilog.

    Parameters
    ----------
    built : BuiltNetlist
    name : str
        Name of the top module; those below it begin with it.
    component : Component or None
        Component of the top module.
    is_simulated : bool
        Whether the text is for a simulator only: memories are written by whole words, and
        waveforms have only ports, registers and read data.
    has_source_lines : bool
        Whether comments name the source line of each register.
    boundary : Boundary or None
        Ports of the top module; None for those of the netlist.

    Attributes
    ----------
    texts : dict of str to str
        Text of each module by name, those below others first.
    cell_places : CellPlaces
        Where the cells of the netlist are in the texts.

    """

    def __init__(
        self,
        built: BuiltNetlist,
        name: str,
        component: Any = None,
        *,
        is_simulated: bool = False,
        has_source_lines: bool = False,
        boundary: Boundary | None = None,
    ):
        self.built, self.name, self.component = built, name, component
        self.is_simulated, self.has_source_lines = is_simulated, has_source_lines
        self.boundary = Boundary.of(built.netlist) if boundary is None else boundary
        self.prepared = PreparedNetlist(built.netlist, self.boundary)
        if built.has_cell_cycle:
            split_cycles(self.prepared)
        self.prepared.find_live()
        self.flows = net_flows(self.prepared)
        self.texts: dict[str, str] = {}
        self.cell_places = CellPlaces(built.netlist)
        self.known: dict[str, str] = {}
        self.module_names = Scope()
        self.ports: dict[int, list[Variable]] = {}
        self.names: dict[int, str] = {}
        self.anonymous = 0
        self.nodes: list[list[Any]] = [[] for _ in built.netlist.modules]
        for node in self.prepared.nodes:
            is_instance = node.kind is nir.Instance and node.index not in self.boundary.outside
            if node.end > node.first or is_instance:
                self.nodes[node.module].append(node)
        self.clocks = {
            start: name
            for name, (start, width) in built.netlist.top.ports_i.items()
            if width == 1 and name.rpartition("_")[2] in ("clk", "rst")
        }
        #: Signals in waveforms of each module and those below it, and names of its instances.
        self.places: dict[int, dict[str, tuple[tuple[str, int, int], ...]]] = {}
        self.write(0)

    @property
    def text(self) -> str:
        """Text of all modules, the top first."""
        return "\n".join(reversed(self.texts.values()))

    def write(self, index: int) -> None:
        """Write the modules below one, and the module."""
        module = self.built.netlist.modules[index]
        for child in module.submodules:
            self.write(child)
        is_top = module.parent is None
        children = [child for child in module.submodules if child in self.names]
        flows = self.flows
        if not is_top and not (
            self.nodes[index] or children or flows.inputs[index] or flows.outputs[index]
        ):
            return
        # A variable with the name of the instance would hide it in the module around.
        scope = Scope(() if is_top else (identifier(module.name[-1]),))
        signals = signals_of(self.built, self.prepared, index)
        if is_top:
            ports = self.top_ports(scope, signals)
        else:
            ports = nested_ports(
                flows.inputs[index], flows.outputs[index], signals, self.clocks, scope
            )
        instances = []
        for child in children:
            place = scope.add(identifier(self.built.netlist.modules[child].name[-1]))
            pairs = [(port.name, port.port, port.nets) for port in self.ports[child]]
            instances.append(Child(place, self.names[child], pairs))
        for node in self.nodes[index]:
            if node.kind is nir.Instance:
                instances.append(self.instance(node, scope))
        plan = ModulePlan(
            self.prepared,
            self.nodes[index],
            signals,
            ports,
            instances,
            index,
            self.is_simulated,
            self.has_source_lines,
        )
        text = ModuleText(plan, scope)
        self.cell_places.modules[index] = self.places_in(index, text, children)
        if self.is_simulated:
            self.places[index] = self.places_below(index, text, children)
        self.anonymous += text.naming.anonymous
        self.ports[index] = ports
        body = self.module_text(ports, text)
        if not is_top and body in self.known:
            self.names[index] = self.known[body]
            return
        path = [identifier(part).rstrip("_") for part in module.name[1:]]
        name = self.module_names.add("__".join([self.name, *path]))
        self.known[body] = self.names[index] = name
        origin = self.component if is_top else self.built.origins.get(index)
        # A part of the top does not depend on the whole config.
        is_part = is_top and self.boundary.outside
        head = "" if is_part else head_of(origin, ".".join(module.name[1:]))
        self.texts[name] = f"{head}module {name} (\n{body}endmodule\n"

    def places_below(
        self, index: int, text: ModuleText, children: list[int]
    ) -> dict[str, tuple[tuple[str, int, int], ...]]:
        """Return the places of the signals of a module, and of those below it."""
        places = dict(places_of(self.prepared, index, text))
        for child, instance in zip(children, text.plan.children, strict=False):
            inner = self.built.netlist.modules[child].name[-1]
            for path, bits in self.places.pop(child).items():
                places[f"{inner}.{path}"] = tuple(
                    (name and f"{instance.name}.{name}", first, width)
                    for name, first, width in bits
                )
        cells = (node.cell for node in self.nodes[index] if node.kind is nir.Instance)
        for cell, instance in zip(cells, text.plan.children[len(children) :], strict=True):
            for name, _, nets in instance.ports:
                port = plain(name)
                place = (f"{instance.name}.{port}", 0, len(nets))
                places[f"{cell.name}.{port}"] = (place,)
        return places

    def places_in(self, index: int, text: ModuleText, children: list[int]) -> ModulePlaces:
        """Return the places of the cells in a module."""
        names = [instance.name for instance in text.plan.children]
        cells = [node.index for node in self.nodes[index] if node.kind is nir.Instance]
        return ModulePlaces(
            text.homes,
            dict(zip(children, names, strict=False)),
            dict(zip(cells, names[len(children) :], strict=True)),
        )

    def top_ports(self, scope: Scope, signals: list) -> list[Variable]:
        """Return the ports of the top module, in the order of the design."""
        outputs = self.prepared.nodes[0].inputs
        inputs = [list(nets) for nets in self.boundary.inputs.values()]
        named = [("input", *pair) for pair in zip(self.boundary.inputs, inputs, strict=True)]
        if self.boundary.outside:
            used = set().union(*self.flows.used)
            named = [one for one in named if not used.isdisjoint(one[2])]
        named += [("output", *pair) for pair in zip(self.boundary.outputs, outputs, strict=True)]
        by_nets = {tuple(signal.nets): signal for signal in reversed(signals)}
        return [
            Variable(escaped(name), 0, len(nets), nets, by_nets.get(tuple(nets)), port=kind)
            for kind, name, nets in ((kind, scope.add(name), nets) for kind, name, nets in named)
        ]

    def instance(self, node: Any, scope: Scope) -> Child:
        """Return the instance of another conversion's module."""
        cell = node.cell
        assert not cell.parameters
        pairs = [
            (escaped(name), "input", nets)
            for name, nets in zip(cell.ports_i, node.inputs, strict=True)
        ]
        base = node.index << 16
        pairs += [
            (escaped(name), "output", list(range(base + start, base + start + width)))
            for name, (start, width) in cell.ports_o.items()
        ]
        return Child(scope.add(identifier(cell.name)), cell.type, pairs)

    def module_text(self, ports: list[Variable], text: ModuleText) -> str:
        """Return the text of a module after its name."""
        heads = [
            f"{port.port} {'reg ' if port.is_register else ''}{port.range}{port.name}"
            for port in ports
        ]
        lines = [f"  {head}," for head in heads]
        if lines:
            lines[-1] = lines[-1][:-1]
        sources = map(text.sources.get, ports)
        lines = [declared(line, source) for line, source in zip(lines, sources, strict=True)]
        return "\n".join([*lines, ");", *text.lines(), ""])
