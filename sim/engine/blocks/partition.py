"""Partition of an emission: blocks in clock domains of their own, and the rest of the top."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....hw.emit.emission import Emission, EmittedPort
from ....hw.emit.emitter import domain_ports
from ....hw.emit.netlist import EmittedInstance, NetPiece, Paths
from .rest_text import instances_below, ports_of, rest_port, rest_text, split_modules

__all__ = ["REST", "TOP", "BlockDesign", "Part", "Partition", "partition"]

#: Name of the part that holds everything outside of the blocks.
REST = "rest"
#: In place of a part's name: the top, whose inputs are sources.
TOP = ""


@dataclass(frozen=True)
class BlockDesign:
    """Verilog of one block with all modules below it; `name` is its top module."""

    name: str
    verilog: str
    ports: tuple[EmittedPort, ...]


@dataclass(frozen=True)
class Part:
    """One instance of a block in a partition.

    Parameters
    ----------
    name : str
        Name of the instance, or `REST`.
    design : BlockDesign
        Equal for instances of one block.
    clocks : dict of str to str
        Clock domain of the top at each clock port.
    inputs : dict of str to tuple of NetPiece
        Sources of the other inputs, from bit 0 on: outputs of parts and inputs of `TOP`.
    paths : Paths
        Inputs that each output depends on combinationally.

    """

    name: str
    design: BlockDesign
    clocks: dict[str, str]
    inputs: dict[str, tuple[NetPiece, ...]]
    paths: Paths


@dataclass(frozen=True)
class Partition:
    """Parts of an emission, the rest last, and the sources of the top's outputs."""

    parts: tuple[Part, ...]
    outputs: dict[str, tuple[NetPiece, ...]]


def partition(emission: Emission) -> Partition:
    """Return the parts of an emission.

    Each direct instance of a shared block whose clock is not that of ``sync`` becomes a part. All
    logic between them and the blocks in ``sync`` become the rest.

    Raises
    ------
    ValueError
        If the memories of the emission are SRAM macros.

    """
    if emission.srams is not None:
        raise ValueError("block models need memories in the Verilog, not SRAM macros")
    return Cutter(emission).partition()


class Cutter:
    """Separation of the blocks of an emission from the rest of its top."""

    def __init__(self, emission: Emission):
        self.emission = emission
        self.texts = split_modules(emission.verilog)
        self.domains = {domain_ports(domain)[0]: domain for domain in emission.domains}
        *instances, self.outside = emission.instances
        direct = instances_below(self.texts[emission.name])
        self.blocks = {
            one.name: one for one in instances if one.name in direct and self.is_block(one)
        }
        self.in_rest = {one.name: one for one in instances if one.name not in self.blocks}

    def clocks(self, instance: EmittedInstance) -> dict[str, str]:
        """Return the clock domain of the top at each clock port of an instance."""
        sources = {port: pieces[0] for port, pieces in instance.inputs.items() if pieces}
        return {
            port: self.domains[piece.port]
            for port, piece in sources.items()
            if piece.instance == TOP and piece.port in self.domains
        }

    def is_block(self, instance: EmittedInstance) -> bool:
        """Return whether an instance becomes a part of its own."""
        domains = self.clocks(instance).values()
        return instance.module in self.emission.paths and bool(domains) and "sync" not in domains

    def partition(self) -> Partition:
        """Return the parts and the sources of the top's outputs."""
        blocks = [self.block(instance) for instance in self.blocks.values()]
        outputs = {port: self.sources(port, pieces) for port, pieces in self.outside.inputs.items()}
        return Partition((*blocks, self.rest), outputs)

    def block(self, instance: EmittedInstance) -> Part:
        """Return the part of an instance."""
        clocks = self.clocks(instance)
        inputs = {
            port: self.sources(rest_port(instance.name, port), pieces)
            for port, pieces in instance.inputs.items()
            if port not in clocks
        }
        paths = self.emission.paths[instance.module]
        design = self.design(instance.module, self.texts)
        return Part(instance.name, design, clocks, inputs, paths)

    def design(self, name: str, texts: dict[str, str]) -> BlockDesign:
        """Return the design of a module with all modules below it."""
        below: dict[str, None] = {}
        waiting = [name]
        while waiting:
            module = waiting.pop()
            if module not in below and module in texts:
                below[module] = None
                waiting += sorted(set(instances_below(texts[module]).values()), reverse=True)
        return BlockDesign(name, "".join(texts[module] for module in below), ports_of(texts[name]))

    def is_direct(self, piece: NetPiece) -> bool:
        """Return whether a piece comes straight from a block or an input of the top."""
        return piece.instance == TOP or piece.instance in self.blocks

    def sources(self, port: str, pieces: tuple[NetPiece, ...]) -> tuple[NetPiece, ...]:
        """Return the sources of a value, which is an output `port` of the rest unless direct."""
        if all(map(self.is_direct, pieces)):
            return pieces
        return (NetPiece(sum(piece.width for piece in pieces), REST, port),)

    def sinks(self) -> Iterator[tuple[str, tuple[NetPiece, ...]]]:
        """Yield the sources of all inputs of blocks and outputs of the top, by `rest_port`."""
        for name, instance in self.blocks.items():
            for port, pieces in instance.inputs.items():
                yield rest_port(name, port), pieces
        yield from self.outside.inputs.items()

    @cached_property
    def rest(self) -> Part:
        """The part with everything outside of the blocks."""
        outputs: dict[str, tuple[NetPiece, ...]] = {
            port: pieces for port, pieces in self.sinks() if not all(map(self.is_direct, pieces))
        }
        text = rest_text(
            self.texts[self.emission.name],
            {name: instance.module for name, instance in self.blocks.items()},
            {module: ports_of(text) for module, text in self.texts.items()},
            set(outputs),
        )
        design = self.design(self.emission.name, self.texts | {self.emission.name: text})
        given = {port.name: port for port in design.ports if port.direction == "input"}
        origins = {port.name: (TOP, port.name) for port in self.emission.ports} | {
            rest_port(name, port.name): (name, port.name)
            for name, instance in self.blocks.items()
            for port in ports_of(self.texts[instance.module])
        }
        return Part(
            REST,
            design,
            {name: self.domains[name] for name in given if name in self.domains},
            {
                name: (NetPiece(port.width, *origins[name]),)
                for name, port in given.items()
                if name not in self.domains
            },
            {name: frozenset(self.depends(pieces)) for name, pieces in outputs.items()},
        )

    def depends(self, pieces: tuple[NetPiece, ...]) -> set[str]:
        """Return the inputs of the rest that a value depends on combinationally."""
        inputs: set[str] = set()
        seen: set[tuple[str, str]] = set()
        waiting = list(origins_of(pieces))
        while waiting:
            name, port = waiting.pop()
            if (name, port) in seen:
                continue
            seen.add((name, port))
            if name == TOP or name in self.blocks:
                inputs.add(port if name == TOP else rest_port(name, port))
                continue
            instance = self.in_rest[name]
            for source in self.emission.paths[instance.module][port]:
                waiting += origins_of(instance.inputs[source])
        return inputs


def origins_of(pieces: tuple[NetPiece, ...]) -> Iterator[tuple[str, str]]:
    """Yield instance and port of all sources of a value."""
    for piece in pieces:
        if piece.instance is None:
            yield from piece.sources
        else:
            yield piece.instance, piece.port
