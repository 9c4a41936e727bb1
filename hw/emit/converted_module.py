"""Module after its conversion by Amaranth."""

from collections.abc import Mapping
from dataclasses import dataclass

from .emission import EmittedPort
from .instance_counts import instances_in
from .writer.nets.built import BuiltNetlist
from .writer.recorded import Places

__all__ = ["ConvertedModule"]


@dataclass(frozen=True)
class ConvertedModule:
    """Module after its conversion by Amaranth.

    Parameters
    ----------
    text : str
        Verilog of the module and of ordinary components in it, or RTLIL without a library.
    domains : tuple of str
        Clock domains in a fixed order.
    ports : tuple of EmittedPort
        Clocks first.
    built : BuiltNetlist or None
        Its netlist, unless it is RTLIL.
    places : Places
        Where waveforms have its signals.

    """

    text: str
    domains: tuple[str, ...]
    ports: tuple[EmittedPort, ...]
    built: BuiltNetlist | None
    places: Places

    @property
    def instances(self) -> Mapping[str, int]:
        """Number of instances of each shared block and macro that it instantiates itself."""
        return instances_in(self.built.netlist) if self.built else {}
