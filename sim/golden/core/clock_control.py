"""Golden model of the clock control of a core: awake, asleep or ended."""

from collections.abc import Set
from dataclasses import dataclass

__all__ = ["CoreActivity", "clock_needs"]


@dataclass(frozen=True, kw_only=True)
class CoreActivity:
    """State of a core in a cycle.

    Parameters
    ----------
    active, waiting, released : set of int
        Active warps; those that wait at barriers or for units; those of them that continue.
    starts : bool
        True if the first warp is about to start.
    in_flight : bool
        True if an instruction or a fetch is in flight.
    settling : bool
        True if events of an earlier cycle are uncounted.
    full : bool
        True if no more cycles asleep can be counted outside.

    """

    active: Set[int] = frozenset()
    waiting: Set[int] = frozenset()
    released: Set[int] = frozenset()
    starts: bool = False
    in_flight: bool = False
    settling: bool = False
    full: bool = False


def clock_needs(core: CoreActivity) -> dict[str, bool]:
    """Return whether a core is awake, asleep, busy (it needs its clock) and runs (not ended)."""
    running = core.active - (core.waiting - core.released)
    awake = core.starts or core.in_flight or core.full or bool(running)
    asleep = bool(core.active) and not awake
    busy = awake or core.settling
    return {"awake": awake, "asleep": asleep, "busy": busy, "runs": busy or asleep}
