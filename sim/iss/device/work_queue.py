"""Queue of the units' pending work, and the order in which it may execute."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .region import Region

__all__ = ["SCHEDULES", "Agenda", "DeviceFault", "Work"]

SCHEDULES = ("round_robin", "random")
#: Maximum number of pending items in a report.
TOLD = 8


class DeviceFault(Exception):  # noqa: N818  named as the machine's other faults are
    """Use of a unit by a program that has no defined result."""


@dataclass(eq=False, kw_only=True)
class Work:
    """One pending operation of a unit: a load, a compute or a store.

    Parameters
    ----------
    what : str
        Name in messages.
    kind : str
        ``load``, ``store``, ``compute`` or ``nothing``; the random schedule has a speed per kind.
    act : callable
        Function that executes it.
    reads, writes : sequence of Region
        Memory that it accesses between now and its end.
    after : sequence of Work
        Work that ends before this begins.
    beside : sequence of Work
        Work that ends before this ends, but may run at the same time.

    """

    what: str
    kind: str
    act: Callable[[], None]
    reads: Sequence[Region] = ()
    writes: Sequence[Region] = ()
    after: Sequence["Work"] = ()
    beside: Sequence["Work"] = ()
    done: bool = field(default=False, init=False)

    @property
    def awaited(self) -> list["Work"]:
        """Work that must end first and is not done."""
        return [work for work in (*self.after, *self.beside) if not work.done]

    def follows(self, other: "Work") -> bool:
        """Return whether the pending `other` ends before this begins."""
        seen, found = set(), list(self.after)
        while found:
            work = found.pop()
            if work is other:
                return True
            if id(work) not in seen:
                seen.add(id(work))
                found += work.awaited
        return False


class Agenda:
    """Queue of pending work that executes one item per call of `advance`.

    The queue is unlimited: a program that the hardware would stall on a full queue continues here.

    Parameters
    ----------
    schedule : str
        ``round_robin``: first in, first out. ``random``: any item that the machine may execute
        next.
    seed : int
        Seed of the random schedule.

    """

    def __init__(self, schedule: str, seed: int):
        if schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
        self.is_random = schedule == "random"
        self.rng = random.Random(seed)
        # Runs with late loads find other errors than runs with late computes.
        self.haste = self.rng.choice((0.0, 0.3, 0.8)) if self.is_random else 0.0
        kinds = ("load", "store", "compute", "nothing")
        self.speeds = {kind: self.rng.choice((0.01, 1.0)) for kind in kinds}
        self.pending: list[Work] = []

    def add(self, work: Work):
        """Queue `work`; raise `DeviceFault` if it conflicts with unordered pending work."""
        for other in self.pending:
            if hazard := describe_hazard(work, other):
                raise DeviceFault(hazard)
        self.pending.append(work)

    def advance(self) -> bool:
        """Execute one item that may be next; return whether there was one."""
        if not self.pending:
            return False
        work = self.pending[0]  # its dependencies were queued before it, so they are done
        if self.is_random:
            ready = [work for work in self.pending if not work.awaited]
            work = self.rng.choices(ready, [self.speeds[work.kind] for work in ready])[0]
        self.pending.remove(work)
        work.done, work.after, work.beside = True, (), ()
        work.act()
        return True

    def before_access(self):
        """Execute a random number of items before an access; none with ``round_robin``."""
        while self.is_random and self.rng.random() < self.haste and self.advance():
            pass

    def after_poll(self):
        """Execute an item after a read of a status register, so that polling makes progress."""
        if not self.is_random or self.rng.random() < 0.5:
            self.advance()

    def describe(self) -> str:
        """Return the pending work and its dependencies as text."""
        parts = []
        for work in self.pending[:TOLD]:
            awaited = " and ".join(other.what for other in work.awaited)
            parts.append(f"{work.what}, after {awaited}" if awaited else work.what)
        if len(self.pending) > TOLD:
            parts.append(f"{len(self.pending) - TOLD} more")
        return "; ".join(parts)


def describe_hazard(work: Work, other: Work) -> str | None:
    """Return the conflict of `work` with the pending `other` as text, None without one."""
    for verb, mine, does, theirs in (
        ("writes", work.writes, "reads", other.reads),
        ("writes", work.writes, "writes", other.writes),
        ("reads", work.reads, "writes", other.writes),
    ):
        for region in mine:
            if any(region.meets(used) for used in theirs) and not work.follows(other):
                return (
                    f"{work.what} {verb} {region}, which {other.what} {does} and has not finished: "
                    f"the two are not ordered; wait for the first"
                )
    return None
