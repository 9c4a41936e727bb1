"""Queue of the units' pending work, and the order in which it may execute."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .region import Region

__all__ = ["KINDS", "SCHEDULES", "Agenda", "DeviceFault", "Watcher", "Work"]

SCHEDULES = ("round_robin", "random")
KINDS = ("load", "store", "compute", "nothing")
#: Maximum number of pending items in a report.
SHOWN = 8


class DeviceFault(Exception):  # noqa: N818  named as the machine's other faults are
    """Use of a unit by a program that has no defined result."""


@dataclass(eq=False, kw_only=True)
class Work:
    """One pending operation of a unit: a load, a compute or a store.

    Parameters
    ----------
    what : str
        Name in messages.
    unit : str
        Name of the unit.
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
    unit: str
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
        seen, waiting = set(), list(self.after)
        while waiting:
            work = waiting.pop()
            if work is other:
                return True
            if id(work) not in seen:
                seen.add(id(work))
                waiting += work.awaited
        return False


class Watcher(Protocol):
    """Observer of an agenda and of the waits for its work."""

    def started(self, work: Work) -> None:
        """Record work that was queued; earlier work of its unit and kind ends before it ends."""
        ...

    def ended(self, work: Work) -> None:
        """Record that work has been executed."""
        ...

    def awaited(self, unit: str, kinds: Sequence[str]) -> None:
        """Record that a program has read that the ended work of these kinds is done."""
        ...


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
    watcher : Watcher or None
        Observer of the work.

    """

    def __init__(self, schedule: str, seed: int, watcher: Watcher | None = None):
        if schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
        self.is_random = schedule == "random"
        self.rng = random.Random(seed)
        # Runs with late loads find other errors than runs with late computes.
        self.haste = self.rng.choice((0.0, 0.3, 0.8)) if self.is_random else 0.0
        self.speeds = {kind: self.rng.choice((0.01, 1.0)) for kind in KINDS}
        self.pending: list[Work] = []
        self.watcher = watcher

    def add(self, work: Work):
        """Queue `work`; raise `DeviceFault` if it conflicts with unordered pending work."""
        for other in self.pending:
            if hazard := describe_hazard(work, other):
                raise DeviceFault(hazard)
        self.pending.append(work)
        if self.watcher is not None:
            self.watcher.started(work)

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
        if self.watcher is not None:
            self.watcher.ended(work)
        return True

    def before_access(self):
        """Execute a random number of items before an access; none with ``round_robin``."""
        while self.is_random and self.rng.random() < self.haste and self.advance():
            pass

    def report_awaited(self, unit: str, kinds: Sequence[str]):
        """Report to the watcher that a program has read that ended work of these kinds is done."""
        if self.watcher is not None:
            self.watcher.awaited(unit, kinds)

    def after_poll(self):
        """Execute an item after a read of a status register, so that polling makes progress."""
        if not self.is_random or self.rng.random() < 0.5:
            self.advance()

    def describe(self) -> str:
        """Return the pending work and its dependencies as text."""
        parts = []
        for work in self.pending[:SHOWN]:
            awaited = " and ".join(other.what for other in work.awaited)
            parts.append(f"{work.what}, after {awaited}" if awaited else work.what)
        if len(self.pending) > SHOWN:
            parts.append(f"{len(self.pending) - SHOWN} more")
        return "; ".join(parts)


def describe_hazard(work: Work, other: Work) -> str | None:
    """Return the conflict of `work` with the pending `other` as text, None without one."""
    for verb, own, does, theirs in (
        ("writes", work.writes, "reads", other.reads),
        ("writes", work.writes, "writes", other.writes),
        ("reads", work.reads, "writes", other.writes),
    ):
        for region in own:
            if any(region.overlaps(used) for used in theirs) and not work.follows(other):
                return (
                    f"{work.what} {verb} {region}, which {other.what} {does} and has not finished: "
                    f"the two are not ordered; wait for the first"
                )
    return None
