"""Definition of a proof: property, block, method and faults."""

from dataclasses import dataclass
from pathlib import Path

from .faults import Fault, faults_of
from .properties import Properties

__all__ = ["FAULTS", "Proof"]

FAULTS = faults_of(Path(__file__).with_name("faults.diff"))
#: Least number of cycles from reset in which a fault is searched for; the search ends at the first.
FAULT_DEPTH = 14


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A property of a block, and the method of its proof.

    Parameters
    ----------
    name : str
        Name of the block and of the property.
    says : str
        The property in words.
    size : str
        Sizes for which it is proven, in words.
    kind : type
    arguments : tuple
        Class of the block with its properties, and its constructor arguments.
    depth : int
        With induction, the assumed cycles before the one that is shown, and the cycles searched
        from reset; otherwise the cycles searched from reset.
    induction : bool
        Whether the property holds after any number of cycles, not only after `depth`.

    """

    name: str
    says: str
    size: str
    kind: type[Properties]
    arguments: tuple
    depth: int = 2
    induction: bool = True

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults, each of which makes the proof fail."""
        return tuple(fault for fault in FAULTS if self.name in fault.guards)

    @property
    def fault_depth(self) -> int:
        """Cycles from reset within which a fault must be visible."""
        return max(self.depth, FAULT_DEPTH)

    def make(self) -> Properties:
        """Return the block with its properties."""
        return self.kind(*self.arguments)
