"""What is proven, of which block, and which faults would be found out."""

from dataclasses import dataclass

from .properties import Properties

__all__ = ["Fault", "Proof"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One edit of one file of the hardware that breaks a property.

    Parameters
    ----------
    what : str
        The fault in words.
    file : str
    old, new : str
        Text that is in the file once, and what takes its place.
    depth : int
        Cycles from reset within which it shows.

    """

    what: str
    file: str
    old: str
    new: str
    depth: int = 10


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What is proven, of what, and how.

    Parameters
    ----------
    name : str
        Of the block and what of it.
    says : str
        The property in words.
    size : str
        The sizes for which it is proven, in words.
    kind : type
    arguments : tuple
        The block with its properties, and what it is made of.
    depth : int
        Of an induction the cycles that are assumed before the one that is shown, as many as are
        searched from reset; else the cycles from reset that are searched.
    induction : bool
        Whether the property holds after any number of cycles, not only after `depth`.
    faults : tuple of Fault
        Each makes it fail.

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
