"""Partition of an emission: blocks in clock domains of their own, and the rest of the top."""

from collections.abc import Mapping
from dataclasses import dataclass

from ....hw.emit.emission import REST, TOP, Emission, EmittedPort, SplitTop, VerilogModule
from ....hw.emit.module_ports import domain_ports
from ....hw.emit.netlist import NetPiece, Paths

__all__ = ["BlockDesign", "Part", "Partition", "partition"]


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
    clocks : mapping of str to str
        Clock domain of the top at each clock port.
    inputs : mapping of str to tuple of NetPiece
        Sources of the other inputs, from bit 0 on: outputs of parts and inputs of `TOP`.
    paths : Paths
        Inputs that each output depends on combinationally.

    """

    name: str
    design: BlockDesign
    clocks: Mapping[str, str]
    inputs: Mapping[str, tuple[NetPiece, ...]]
    paths: Paths


@dataclass(frozen=True)
class Partition:
    """Parts of an emission, the rest last, and the sources of the top's outputs."""

    parts: tuple[Part, ...]
    outputs: Mapping[str, tuple[NetPiece, ...]]


def partition(emission: Emission) -> Partition:
    """Return the parts of an emission, see `SplitTop`.

    Raises
    ------
    ValueError
        If the memories of the emission are SRAM macros, or it is not for a simulator.

    """
    if emission.srams is not None:
        raise ValueError("block models need memories in the Verilog, not SRAM macros")
    if emission.split is None:
        raise ValueError("block models need an emission for a simulator")
    split = emission.split
    blocks = [
        Part(
            name=block.name,
            design=design_of(split.modules[block.module], split.modules),
            clocks=block.clocks,
            inputs=block.inputs,
            paths=split.modules[block.module].paths,
        )
        for block in split.blocks
    ]
    domains = {domain_ports(domain)[0]: domain for domain in emission.domains}
    return Partition((*blocks, rest_of(split, domains)), split.outputs)


def rest_of(split: SplitTop, domains: Mapping[str, str]) -> Part:
    """Return the part with everything outside of the blocks."""
    clocks = {
        port: domains[source.port]
        for port, source in split.sources.items()
        if source.instance == TOP and source.port in domains
    }
    return Part(
        name=REST,
        design=design_of(split.rest, split.modules),
        clocks=clocks,
        inputs={port: (source,) for port, source in split.sources.items() if port not in clocks},
        paths=split.rest.paths,
    )


def design_of(top: VerilogModule, modules: Mapping[str, VerilogModule]) -> BlockDesign:
    """Return the design of a module with all modules below it."""
    below: dict[str, None] = {}
    waiting = sorted(top.children, reverse=True)
    while waiting:
        name = waiting.pop()
        if name not in below:
            below[name] = None
            waiting += sorted(modules[name].children, reverse=True)
    texts = [top.text, *(modules[name].text for name in below)]
    return BlockDesign(top.name, "\n".join(texts), top.ports)
