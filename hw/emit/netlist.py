"""Connections of a converted module: combinational paths between ports, origins of nets."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .dependencies import HUB, Dependencies

__all__ = ["NetPiece", "Paths", "Tracer", "combinational_paths"]

nir: Any = _nir  # no stub
#: Inputs that each output of a module depends on combinationally, by the name of the output.
Paths = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class NetPiece:
    """Consecutive bits of an input, all from one source.

    Parameters
    ----------
    width : int
    instance : str
        Instance whose output drives the bits; an empty name is the module with its inputs.
    port : str
        Output of the instance, or input of the module.
    offset : int
        First bit of the port.

    """

    width: int
    instance: str
    port: str
    offset: int = 0


class Tracer:
    """Search of the sources of nets: outputs of instances and inputs of the module.

    Parameters
    ----------
    netlist : Netlist
        Of one module with its instances.
    paths : mapping of str to Paths
        Combinational paths of the modules of instances. An instance of another module is opaque:
        the search ends at its outputs.
    outside : container of int
        Cells of further opaque instances.

    """

    def __init__(self, netlist: Any, paths: Mapping[str, Paths], outside: Container[int] = ()):
        self.cells: list[Any] = netlist.cells
        self.dependencies = Dependencies(netlist)
        self.paths = paths
        #: Sources that were found, each a bit of an integer, in the order of their names.
        self.names: list[tuple[str, str]] = []
        self.source_bits: dict[int, int] = {0: 0, 1: 0}
        self.ports: dict[int, tuple[str, str, int]] = {}
        for index, cell in enumerate(self.cells):
            is_top = isinstance(cell, nir.Top)
            if is_top or isinstance(cell, nir.Instance):
                drives = cell.ports_i if is_top else cell.ports_o
                name = "" if is_top else cell.name
                ends = is_top or index in outside or cell.type not in paths
                for port, (start, width) in drives.items():
                    first = nir.Net.from_cell(index, start)
                    for bit in range(width):
                        self.ports[first + bit] = (name, port, bit)
                    if ends:
                        self.source_bits.update(
                            dict.fromkeys(range(first, first + width), 1 << len(self.names))
                        )
                        self.names.append((name, port))

    def before(self, node: int) -> Iterable[int]:
        """Return the nets and hubs that a net or hub depends on combinationally.

        All bits of an output of an instance depend on the first one, so that they are alike.
        """
        cell: Any = self.cells[node >> 16] if 0 <= node < HUB else None
        if isinstance(cell, nir.FlipFlop):
            return ()
        if isinstance(cell, nir.Instance):
            _, port, bit = self.ports[node]
            if bit:
                return (node - bit,)
            return (net for name in self.paths[cell.type][port] for net in cell.ports_i[name])
        return self.dependencies.before(node)

    def sources(self, net: int) -> int:
        """Return the sources of a net, as bits of an integer.

        Paths through instances of modules with known paths are followed to the inputs of the
        module; without them the outputs of the instance are the sources.
        """
        source_bits = self.source_bits
        if net in source_bits:
            return source_bits[net]
        waiting, union = [(net, iter(self.before(net)))], [0]
        while waiting:
            node, earlier = waiting[-1]
            for one in earlier:
                if one not in source_bits:
                    waiting.append((one, iter(self.before(one))))
                    union.append(0)
                    break
                union[-1] |= source_bits[one]
            else:
                waiting.pop()
                source_bits[node] = known = union.pop()
                if union:
                    union[-1] |= known
        return source_bits[net]

    def names_of(self, nets: Iterable[int]) -> frozenset[tuple[str, str]]:
        """Return instance and port of all sources of nets."""
        union = 0
        for net in nets:
            union |= self.sources(net)
        return frozenset(name for bit, name in enumerate(self.names) if union >> bit & 1)

    def pieces(self, nets: Iterable[int]) -> Iterator[NetPiece]:
        """Yield the sources of a value that only instances and the module drive, from bit 0 on."""
        ports = [self.ports[net] for net in nets]

        def origin(numbered):
            number, (name, port, bit) = numbered
            return name, port, bit - number

        for _, run in groupby(enumerate(ports), origin):
            members = [port for _, port in run]
            yield NetPiece(len(members), *members[0])


def combinational_paths(netlist: Any, paths: Mapping[str, Paths]) -> Paths:
    """Return the inputs that each output of a module depends on in the same cycle.

    Instances of other modules, SRAM macros, are synchronous.

    Parameters
    ----------
    netlist : Netlist
        Of the module.
    paths : mapping of str to Paths
        Combinational paths of the modules of its instances.

    """
    tracer = Tracer(netlist, paths)
    return {
        name: frozenset(port for instance, port in tracer.names_of(nets) if not instance)
        for name, nets in netlist.top.ports_o.items()
    }
