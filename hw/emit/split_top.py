"""Split of a top into the blocks in clock domains of their own and the rest."""

from collections.abc import Mapping, Sequence
from typing import Any

# Private, and there is no public form of a module's connections between fragment and text.
from amaranth.hdl import _nir

from .emission import REST, TOP, EmittedPort, SplitBlock, SplitTop, VerilogModule
from .netlist import NetPiece, Paths, Tracer
from .writer.conversion import Conversion
from .writer.nets.boundary import Boundary
from .writer.nets.built import BuiltNetlist
from .writer.recorded import Places
from .writer.variables.names import plain

__all__ = ["split_top"]

nir: Any = _nir  # no stub


def split_top(
    built: BuiltNetlist,
    name: str,
    clocks: Mapping[str, str],
    modules: Mapping[str, VerilogModule],
) -> SplitTop:
    """Return the split of a top.

    Parameters
    ----------
    built : BuiltNetlist
        Netlist of the top.
    name : str
        Name of its module.
    clocks : mapping of str to str
        Clock domain of each of its clock ports.
    modules : mapping of str to VerilogModule
        All shared blocks.

    """
    return Splitter(built, name, clocks, modules).split()


def rest_port(instance: str, port: str) -> str:
    """Return the port of the rest for a port of a block, or of the top."""
    return port if instance == TOP else f"{instance}${port}"


class Splitter:
    """Separation of the blocks of a top from the rest of it, see `split_top`."""

    def __init__(
        self,
        built: BuiltNetlist,
        name: str,
        clocks: Mapping[str, str],
        modules: Mapping[str, VerilogModule],
    ):
        self.built, self.name, self.modules = built, name, modules
        netlist = built.netlist
        self.top = netlist.top
        self.domains = {
            nir.Net.from_cell(0, self.top.ports_i[port][0]): domain
            for port, domain in clocks.items()
        }
        #: Cells of the blocks.
        self.blocks = {
            index: cell for index, cell in enumerate(netlist.cells) if self.is_block(cell)
        }
        self.inside = [
            cell
            for index, cell in enumerate(netlist.cells)
            if isinstance(cell, nir.Instance) and index not in self.blocks
        ]
        paths = {name: module.paths for name, module in modules.items()}
        self.tracer = Tracer(netlist, paths, self.blocks)

    def clocks(self, cell: Any) -> dict[str, str]:
        """Return the clock domain of the top at each clock port of an instance."""
        return {
            port: self.domains[nets[0]]
            for port, nets in cell.ports_i.items()
            if len(nets) and nets[0] in self.domains
        }

    def is_block(self, cell: Any) -> bool:
        """Return whether a cell is a block that is split off."""
        if not isinstance(cell, nir.Instance) or cell.module_idx or cell.type not in self.modules:
            return False
        domains = self.clocks(cell).values()
        return bool(domains) and "sync" not in domains

    def is_direct(self, nets: Sequence[int]) -> bool:
        """Return whether a value comes straight from blocks and inputs of the top."""
        return all(net > 1 and (net >> 16 == 0 or net >> 16 in self.blocks) for net in nets)

    def pieces(self, instance: str, port: str, nets: Sequence[int]) -> tuple[NetPiece, ...]:
        """Return the sources of a value, which is an output of the rest unless it is direct."""
        if self.is_direct(nets):
            return tuple(self.tracer.pieces(nets))
        return (NetPiece(len(nets), REST, rest_port(instance, port)),)

    def split(self) -> SplitTop:
        """Return the blocks, the rest and their connections."""
        blocks = [self.block(cell) for cell in self.blocks.values()]
        rest, sources = self.rest()
        outputs = {port: self.pieces(TOP, port, nets) for port, nets in self.top.ports_o.items()}
        return SplitTop(tuple(blocks), rest, sources, outputs, self.modules)

    def block(self, cell: Any) -> SplitBlock:
        """Return a block with the sources of its inputs."""
        clocks = self.clocks(cell)
        inputs = {
            port: self.pieces(cell.name, port, nets)
            for port, nets in cell.ports_i.items()
            if port not in clocks
        }
        return SplitBlock(cell.name, cell.type, clocks, inputs)

    def boundary(self) -> tuple[Boundary, dict[str, NetPiece]]:
        """Return the ports that the rest may have, and the source of each input."""
        owners = [(TOP, 0, self.top.ports_i)]
        owners += [(cell.name, index, cell.ports_o) for index, cell in self.blocks.items()]
        inputs: dict[str, list[int]] = {}
        sources: dict[str, NetPiece] = {}
        for owner, index, ports in owners:
            for port, (start, width) in ports.items():
                first = nir.Net.from_cell(index, start)
                inputs[rest_port(owner, port)] = list(range(first, first + width))
                sources[rest_port(owner, port)] = NetPiece(width, owner, port)
        sinks = [(cell.name, cell.ports_i) for cell in self.blocks.values()]
        outputs = {
            rest_port(owner, port): list(nets)
            for owner, ports in (*sinks, (TOP, self.top.ports_o))
            for port, nets in ports.items()
            if not self.is_direct(nets)
        }
        return Boundary(inputs, outputs, frozenset(self.blocks)), sources

    def rest(self) -> tuple[VerilogModule, dict[str, NetPiece]]:
        """Return the module of everything outside of the blocks, and the sources of its inputs."""
        boundary, sources = self.boundary()
        conversion = Conversion(self.built, self.name, is_simulated=True, boundary=boundary)
        ports = tuple(
            EmittedPort(plain(one.name), one.port, one.width) for one in conversion.ports[0]
        )
        rest = VerilogModule(
            name=self.name,
            text=conversion.text,
            ports=ports,
            paths=self.paths(boundary),
            children=tuple(dict.fromkeys(cell.type for cell in self.inside)),
            places={**conversion.places[0], **self.block_places()},
        )
        return rest, {port.name: sources[port.name] for port in ports if port.name in sources}

    def block_places(self) -> Places:
        """Return the places of the ports of blocks, which the waveforms of the blocks have."""
        return {
            f"{cell.name}.{port}": ((f"{cell.name}.{port}", 0, width),)
            for cell in self.blocks.values()
            for port, width in (
                *((port, len(nets)) for port, nets in cell.ports_i.items()),
                *((port, width) for port, (_, width) in cell.ports_o.items()),
            )
        }

    def paths(self, boundary: Boundary) -> Paths:
        """Return the inputs of the rest that each of its outputs depends on combinationally."""
        return {
            port: frozenset(rest_port(*source) for source in self.tracer.names_of(nets))
            for port, nets in boundary.outputs.items()
        }
