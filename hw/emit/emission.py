"""Result of emitting a component: Verilog text, ports, modules, memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .netlist import NetPiece, Paths
from .sram_macros import SramShape, sram_models
from .writer.recorded import Places

__all__ = [
    "REST",
    "TOP",
    "Emission",
    "EmittedModule",
    "EmittedPort",
    "EmittedSram",
    "SplitBlock",
    "SplitTop",
    "VerilogModule",
]

#: In place of an instance's name: the top, whose inputs are sources.
TOP = ""
#: In place of an instance's name: the top without the blocks that are split off.
REST = "rest"


@dataclass(frozen=True)
class EmittedPort:
    """One port of the top module: name, direction (``input`` or ``output``), width in bits."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class EmittedModule:
    """One distinct shared block: module name, class, config, number of instances."""

    name: str
    component: str
    config: str
    instances: int


@dataclass(frozen=True)
class EmittedSram:
    """Shape of memories that become SRAM macros, and the number of instances."""

    shape: SramShape
    instances: int


@dataclass(frozen=True)
class VerilogModule:
    """Verilog of a module and the ordinary components in it.

    Parameters
    ----------
    name : str
    text : str
        Text of the module and of those below it that are not shared blocks.
    ports : tuple of EmittedPort
        Clocks first.
    paths : Paths
        Inputs that each output depends on combinationally; empty if the design is not split.
    children : tuple of str
        Names of the shared blocks that it instantiates itself.
    places : Places
        Where waveforms have its signals, by their path in the netlist; empty if it is not for a
        simulator.

    """

    name: str
    text: str
    ports: tuple[EmittedPort, ...]
    paths: Paths
    children: tuple[str, ...]
    places: Places = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class SplitBlock:
    """Instance of a shared block that is split off from the top.

    Parameters
    ----------
    name : str
        Name of the instance.
    module : str
        Name of its module.
    clocks : mapping of str to str
        Clock domain of the top at each clock port.
    inputs : mapping of str to tuple of NetPiece
        Sources of its other inputs, from bit 0 on: outputs of blocks, of `REST` and inputs of
        `TOP`.

    """

    name: str
    module: str
    clocks: Mapping[str, str]
    inputs: Mapping[str, tuple[NetPiece, ...]]


@dataclass(frozen=True)
class SplitTop:
    """Top split into blocks in clock domains of their own and the rest.

    Parameters
    ----------
    blocks : tuple of SplitBlock
        Direct instances of shared blocks whose clock is not that of ``sync``.
    rest : VerilogModule
        All logic between them and the blocks in ``sync``, with the name of the top.
    sources : mapping of str to NetPiece
        Input of `TOP` or output of a block at each input of the rest.
    outputs : mapping of str to tuple of NetPiece
        Sources of the top's outputs.
    modules : mapping of str to VerilogModule
        All shared blocks.

    """

    blocks: tuple[SplitBlock, ...]
    rest: VerilogModule
    sources: Mapping[str, NetPiece]
    outputs: Mapping[str, tuple[NetPiece, ...]]
    modules: Mapping[str, VerilogModule]


@dataclass(frozen=True)
class Emission:
    """Result of emitting a component.

    Parameters
    ----------
    name : str
        Name of the top module.
    config : object
        The component's config; None if it has none.
    verilog : str
        Text of all modules.
    ports : tuple of EmittedPort
        Ports of the top module, clocks first.
    domains : tuple of str
        Clock domains of the top; ``sync`` has ports ``clk`` and ``rst``, another ``x`` has
        ``x_clk`` and ``x_rst``.
    modules : tuple of EmittedModule
        Shared blocks, by name.
    srams : tuple of EmittedSram or None
        SRAM macro wrappers by name, not part of `verilog`; None if memories stay in it.
    split : SplitTop or None
        The same design for a model that is composed of blocks; only if it is for a simulator, and
        without SRAM macros.
    places : Places
        Where waveforms of a text for a simulator have the signals of the top.

    """

    name: str
    config: Any
    verilog: str
    ports: tuple[EmittedPort, ...]
    domains: tuple[str, ...]
    modules: tuple[EmittedModule, ...]
    srams: tuple[EmittedSram, ...] | None = None
    split: SplitTop | None = None
    places: Places = field(default_factory=dict, repr=False)

    @property
    def sram_models(self) -> str:
        """Behavioural Verilog of the SRAM macro wrappers; empty without macros."""
        return "" if self.srams is None else sram_models(sram.shape for sram in self.srams)
