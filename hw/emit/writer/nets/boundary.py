"""Boundary of a conversion: the ports of its top module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Boundary"]


@dataclass(frozen=True)
class Boundary:
    """Ports of the top module of a conversion, if it is only a part of the netlist's top.

    Parameters
    ----------
    inputs : mapping of str to sequence of int
        Nets of the inputs; the module has those that it reads.
    outputs : mapping of str to sequence of int
        Nets of the outputs.
    outside : frozenset of int
        Cells of instances in the top that are not in the module.

    """

    inputs: Mapping[str, Sequence[int]]
    outputs: Mapping[str, Sequence[int]]
    outside: frozenset[int]

    @classmethod
    def of(cls, netlist: Any) -> "Boundary":
        """Return the boundary of the whole netlist."""
        top = netlist.top
        inputs = {name: range(start, start + width) for name, (start, width) in top.ports_i.items()}
        return cls(inputs, dict(top.ports_o), frozenset())
