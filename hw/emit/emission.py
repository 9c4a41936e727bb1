"""Result of emitting a component: Verilog text, ports, modules, memories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .netlist import EmittedInstance, Paths
from .sram_macros import SramShape, sram_models

__all__ = ["Emission", "EmittedModule", "EmittedPort", "EmittedSram"]


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
    paths : mapping of str to Paths
        Combinational paths of each shared block, by name.
    instances : tuple of EmittedInstance
        Shared blocks in the top and the sources of their inputs; the top's outputs as the last.
    srams : tuple of EmittedSram or None
        SRAM macro wrappers by name, not part of `verilog`; None if memories stay in it.

    """

    name: str
    config: Any
    verilog: str
    ports: tuple[EmittedPort, ...]
    domains: tuple[str, ...]
    modules: tuple[EmittedModule, ...]
    paths: Mapping[str, Paths]
    instances: tuple[EmittedInstance, ...]
    srams: tuple[EmittedSram, ...] | None = None

    @property
    def sram_models(self) -> str:
        """Behavioural Verilog of the SRAM macro wrappers; empty without macros."""
        return "" if self.srams is None else sram_models(sram.shape for sram in self.srams)
