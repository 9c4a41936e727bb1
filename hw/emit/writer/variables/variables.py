"""Variables of a module, and the variable that each net is read from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Homes", "Variable", "runs"]


def runs(bits: Iterable[int]) -> list[tuple[int, int]]:
    """Return the ranges of neighbouring numbers."""
    ranges: list[tuple[int, int]] = []
    for bit in bits:
        if ranges and ranges[-1][1] == bit:
            ranges[-1] = (ranges[-1][0], bit + 1)
        else:
            ranges.append((bit, bit + 1))
    return ranges


@dataclass(eq=False)
class Variable:
    """Net, register or port of Verilog.

    Parameters
    ----------
    name : str
    first, end : int
        Range of its bits.
    nets : list of int
        Nets of the bits.
    signal : NamedSignal or None
        Signal that it is named after, if its bits have the same numbers.
    is_register : bool
        Whether a process assigns it.
    port : str
        ``input`` or ``output`` for a port, otherwise empty.
    read : int
        Bits that the text reads, as a mask from `first` on.

    """

    name: str
    first: int
    end: int
    nets: list[int]
    signal: Any = None
    is_register: bool = False
    port: str = ""
    read: int = 0

    def mark(self, first: int, end: int) -> None:
        """Record that the text reads bits."""
        self.read |= ((1 << (end - first)) - 1) << (first - self.first)

    @property
    def unread(self) -> list[tuple[int, int]]:
        """Ranges of bits that the text does not read."""
        bits = range(self.first, self.end)
        return runs(bit for bit in bits if not self.read >> (bit - self.first) & 1)

    def bits(self, first: int, end: int) -> str:
        """Return the text of bits."""
        if first == self.first and end == self.end:
            return self.name
        return f"{self.name}[{first}]" if end == first + 1 else f"{self.name}[{end - 1}:{first}]"

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.end - self.first

    @property
    def range(self) -> str:
        """Range in a declaration, with a space after it; empty for a single bit."""
        if self.width == 1 and self.first == 0:
            return ""
        return f"[{self.end - 1}:{self.first}] "


@dataclass
class Homes:
    """Variables by net.

    Attributes
    ----------
    where : dict of int to (Variable, int)
        Variable and bit of each net that has one.
    memories : dict of int to Variable
        By the index of the memory's cell.

    """

    where: dict[int, tuple[Variable, int]] = field(default_factory=dict)
    memories: dict[int, Variable] = field(default_factory=dict)

    def add(self, variable: Variable) -> None:
        """Give the nets of a variable their home, unless they have one."""
        for bit, net in enumerate(variable.nets, variable.first):
            if net > 1:
                self.where.setdefault(net, (variable, bit))

    def run(self, nets: Sequence[int]) -> tuple[Variable, int] | None:
        """Return the variable with nets as neighbouring bits, and the first; None if none has."""
        place = self.where.get(nets[0])
        if place is None:
            return None
        variable, bit = place
        start = bit - variable.first
        return place if variable.nets[start : start + len(nets)] == list(nets) else None
