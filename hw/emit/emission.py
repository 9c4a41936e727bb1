"""What becomes of a component: Verilog, and what there is to know of it."""

from dataclasses import dataclass
from typing import Any

from .sram_macros import SramShape, sram_models

__all__ = ["Emission", "EmittedModule", "EmittedPort", "EmittedSram"]


@dataclass(frozen=True)
class EmittedPort:
    """One port of the top module: its name, ``input`` or ``output``, and its bits."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class EmittedModule:
    """One distinct shared block: its module name, its class, its config, how often it occurs."""

    name: str
    component: str
    config: str
    instances: int


@dataclass(frozen=True)
class EmittedSram:
    """The shape of memories that are left to macros, and how often it occurs."""

    shape: SramShape
    instances: int


@dataclass(frozen=True)
class Emission:
    """What became of a component.

    Parameters
    ----------
    name : str
        Name of the top module.
    config : object
        The component's config, None where it has none.
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
        Wrappers of macros, by name, which are no part of `verilog`; None where memories are.

    """

    name: str
    config: Any
    verilog: str
    ports: tuple[EmittedPort, ...]
    domains: tuple[str, ...]
    modules: tuple[EmittedModule, ...]
    srams: tuple[EmittedSram, ...] | None = None

    @property
    def sram_models(self) -> str:
        """Verilog of the wrappers of macros as they behave; nothing where memories are none."""
        return "" if self.srams is None else sram_models(sram.shape for sram in self.srams)
