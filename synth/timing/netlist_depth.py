"""Logic depth of a hierarchy, from the netlist of each distinct block by itself.

Equals ``ltp -noff`` of the flattened netlist: cells on the longest path between registers, memories
and ports. Blocks are never flattened, so a large array costs no more than one element.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

__all__ = ["Arrivals", "Graph", "PortBit", "Timing", "arrivals_of", "block_timing", "graph_of"]

REGISTER = re.compile(r"\$_(S?DFF|ALDFF|DFFSR|DLATCH|SR)\w*_$|\$mem")

#: A bit of a port: its name and index.
PortBit = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Depth of a block, and the path lengths at its ports.

    Parameters
    ----------
    depth : int
        Cells on the longest path inside; ports count as its ends.
    after_input : dict
        Cells from an input bit to the farthest register or memory inside.
    before_output : dict
        Cells from the farthest register or memory inside to an output bit.
    through : dict
        For each output bit, the cells from each input bit that reaches it.

    """

    depth: int
    after_input: dict[PortBit, int] = field(default_factory=dict)
    before_output: dict[PortBit, int] = field(default_factory=dict)
    through: dict[PortBit, dict[PortBit, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """A port bit of another block that a block instantiates.

    Parameters
    ----------
    instance, block : str
        Name of the cell, and its type.
    port_bit : PortBit
        Bit of the port.

    """

    instance: str
    block: str
    port_bit: PortBit


@dataclass(kw_only=True)
class Graph:
    """Combinational logic of a block, bit by bit.

    Parameters
    ----------
    edges : dict
        For each driven bit, the bits it depends on and the cells in between.
    starts : dict
        Bits driven by a register or memory, and the cells after it.
    inputs : dict
        Bits driven by an input port.
    ends : list
        Bits that drive a register or memory, the cells before it, and the port bit of another block
        if the register is in that block.
    outputs : dict
        Driver of each output port bit.
    leaving : dict
        For each bit driven by another block, that block's output bit.
    entering : dict
        For each instance of another block, the drivers of its input bits.

    """

    edges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    inputs: dict[int, PortBit] = field(default_factory=dict)
    ends: list[tuple[int, int, Crossing | None]] = field(default_factory=list)
    outputs: dict[PortBit, int] = field(default_factory=dict)
    leaving: dict[int, Crossing] = field(default_factory=dict)
    entering: dict[str, dict[PortBit, int]] = field(default_factory=dict)

    def add_cell(self, cell: dict):
        """Add a register, or a gate whose outputs depend on all its inputs."""
        directions = cell["port_directions"]
        sources: list[int] = []
        sinks: list[int] = []
        for port, bits in cell["connections"].items():
            wires = [bit for bit in bits if isinstance(bit, int)]
            (sources if directions[port] == "input" else sinks).extend(wires)
        if REGISTER.match(cell["type"]):
            self.ends += [(bit, 0, None) for bit in sources]
            self.starts.update(dict.fromkeys(sinks, 0))
        else:
            inputs = [(bit, 1) for bit in sources]
            self.edges.update(dict.fromkeys(sinks, inputs))

    def add_child(self, instance: str, cell: dict, timing: Timing):
        """Add an instance of another block by its timing."""
        connections = cell["connections"]
        crossing = partial(Crossing, instance=instance, block=cell["type"])
        self.entering[instance] = {
            (port, index): bit
            for port, bits in connections.items()
            for index, bit in enumerate(bits)
            if isinstance(bit, int)
        }

        def wire(port_bit: PortBit):
            port, index = port_bit
            return connections[port][index] if port in connections else "x"

        self.ends += [
            (bit, cells, crossing(port_bit=port_bit))
            for port_bit, cells in timing.after_input.items()
            if isinstance(bit := wire(port_bit), int)
        ]
        for port_bit in timing.before_output.keys() | timing.through.keys():
            if not isinstance(output := wire(port_bit), int):
                continue
            self.leaving[output] = crossing(port_bit=port_bit)
            if port_bit in timing.before_output:
                self.starts[output] = timing.before_output[port_bit]
            self.edges[output] = [
                (bit, cells)
                for source, cells in timing.through.get(port_bit, {}).items()
                if isinstance(bit := wire(source), int)
            ]

    def ordered(self) -> list[int]:
        """Return every driven bit after all bits it depends on."""
        order: list[int] = []
        state: dict[int, int] = {}  # 1 while its inputs are visited, 2 when done
        for root in self.edges:
            stack = [root]
            while stack:
                bit = stack[-1]
                if state.get(bit) == 2 or bit not in self.edges:
                    stack.pop()
                    continue
                if state.get(bit) == 1:
                    state[bit] = 2
                    order.append(stack.pop())
                    continue
                state[bit] = 1
                for source, _ in self.edges[bit]:
                    if state.get(source) == 1:
                        raise ValueError(f"logic must not loop; net {source} depends on itself")
                    if state.get(source) != 2:
                        stack.append(source)
        return order


@dataclass(kw_only=True)
class Arrivals:
    """For each bit: cells since a register (absent if none reaches it), and since each input."""

    register: dict[int, int]
    inputs: dict[int, dict[PortBit, int]]

    def of(self, bit: int, origin: PortBit | None) -> int | None:
        """Return the cells since a register or an input; None if it does not reach the bit."""
        if origin is None:
            return self.register.get(bit)
        return self.inputs.get(bit, {}).get(origin)

    def deepest(self, bit: int) -> int:
        return max(self.register.get(bit, 0), *self.inputs.get(bit, {}).values(), 0)


def arrivals_of(graph: Graph) -> Arrivals:
    """Return the distance of every bit of `graph` from registers and inputs."""
    register = dict(graph.starts)
    inputs = {bit: {port_bit: 0} for bit, port_bit in graph.inputs.items()}
    for bit in graph.ordered():
        merged: dict[PortBit, int] = {}
        for source, cells in graph.edges[bit]:
            if source in register:
                register[bit] = max(register.get(bit, 0), register[source] + cells)
            for port_bit, before in inputs.get(source, {}).items():
                merged[port_bit] = max(merged.get(port_bit, 0), before + cells)
        inputs[bit] = merged
    return Arrivals(register=register, inputs=inputs)


def graph_of(module: dict, children: Mapping[str, Timing]) -> Graph:
    """Return the logic of one block.

    Parameters
    ----------
    module : dict
        The block's gate-level netlist in the form of ``write_json``.
    children : mapping
        Timing of every other block it instantiates.

    """
    graph = Graph()
    for instance, cell in module["cells"].items():
        if cell["type"] in children:
            graph.add_child(instance, cell, children[cell["type"]])
        else:
            graph.add_cell(cell)
    for name, port in module["ports"].items():
        for index, bit in enumerate(port["bits"]):
            if port["direction"] == "input":
                graph.inputs[bit] = (name, index)
            elif isinstance(bit, int):
                graph.outputs[name, index] = bit
    return graph


def block_timing(module: dict, children: Mapping[str, Timing]) -> Timing:
    """Return the timing of one block; see `graph_of`."""
    graph = graph_of(module, children)
    arrivals = arrivals_of(graph)
    after_input: dict[PortBit, int] = {}
    for bit, cells, _ in graph.ends:
        for port_bit, before in arrivals.inputs.get(bit, {}).items():
            after_input[port_bit] = max(after_input.get(port_bit, 0), before + cells)
    depths = [timing.depth for timing in children.values()]
    depths += [arrivals.deepest(bit) for bit in graph.edges]
    depths += [arrivals.deepest(bit) + cells for bit, cells, _ in graph.ends]
    return Timing(
        depth=max(depths, default=0),
        after_input=after_input,
        before_output={
            port_bit: arrivals.register[bit]
            for port_bit, bit in graph.outputs.items()
            if bit in arrivals.register
        },
        through={
            port_bit: arrivals.inputs[bit]
            for port_bit, bit in graph.outputs.items()
            if arrivals.inputs.get(bit)
        },
    )
