"""Definition of a proof: property, block, method and faults."""

from dataclasses import dataclass

from .properties import Properties

__all__ = ["Fault", "Proof"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One edit of one RTL source that breaks a property.

    Parameters
    ----------
    what : str
        The fault in words.
    inside : str
        Class, function or label that the source defines.
    old, new : str
        Text that occurs once in the source, and its replacement.
    depth : int
        Cycles from reset within which the fault is visible.

    """

    what: str
    inside: str
    old: str
    new: str
    depth: int = 10


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
    faults : tuple of Fault
        Faults, each of which makes the proof fail.

    """

    name: str
    says: str
    size: str
    kind: type[Properties]
    arguments: tuple
    depth: int = 2
    induction: bool = True
    faults: tuple[Fault, ...]

    def make(self) -> Properties:
        """Return the block with its properties."""
        return self.kind(*self.arguments)
