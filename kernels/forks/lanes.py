"""Sets of threads of a warp: those that are active, and those in which a value is defined."""

from dataclasses import dataclass

__all__ = ["Defined", "Lanes", "joined_lanes"]

#: Active threads: their mask, or the address of the `vx_tmc` that set a mask that is not known.
Lanes = int | str


@dataclass(frozen=True)
class Defined:
    """Threads in which a value is defined.

    Attributes
    ----------
    mask : int
        Threads that are known.
    sets : frozenset of str
        Sets of threads that are not known, by the `vx_tmc` that made them active.

    """

    mask: int
    sets: frozenset[str] = frozenset()

    @classmethod
    def of(cls, lanes: Lanes) -> "Defined":
        """Return a value that the active threads have just defined."""
        return cls(0, frozenset((lanes,))) if isinstance(lanes, str) else cls(lanes)

    def covers(self, lanes: Lanes, every: int) -> bool:
        """Return whether the value is defined in all active threads; `every` masks the warp's."""
        if isinstance(lanes, str):
            return lanes in self.sets or self.mask == every
        return not lanes & ~self.mask

    def joined(self, other: "Defined", every: int) -> "Defined":
        """Return where the value is defined on both of two paths."""
        both = {name for name in self.sets | other.sets if self.covers(name, every)}
        common = frozenset(name for name in both if other.covers(name, every))
        return Defined(self.mask & other.mask, common)


def joined_lanes(one: Lanes, other: Lanes, every: int) -> Lanes:
    """Return the threads that may be active after two paths join."""
    if one == other:
        return one
    return every if isinstance(one, str) or isinstance(other, str) else one | other
