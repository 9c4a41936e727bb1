"""What engines have been told and not yet done, and which of it may happen next."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .region import Region

__all__ = ["SCHEDULES", "Agenda", "DeviceFault", "Work"]

SCHEDULES = ("in_turn", "random")
#: Things that a report names, of those that are not done.
TOLD = 8


class DeviceFault(Exception):  # noqa: N818  named as the machine's other faults are
    """A program used an engine in a way whose outcome the machine leaves open."""


@dataclass(eq=False, kw_only=True)
class Work:
    """One thing an engine was told: a load, a compute, a store.

    Parameters
    ----------
    what : str
        Its name in sentences.
    kind : str
        ``load``, ``store``, ``compute`` or ``nothing``: things of one kind are alike in speed.
    act : callable
        Does it.
    reads, writes : sequence of Region
        What it touches from now until it is done.
    after : sequence of Work
        What the machine does before it.
    beside : sequence of Work
        What ends before it does, though both may be under way at a time.

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
        """What it still waits for."""
        return [work for work in (*self.after, *self.beside) if not work.done]

    def follows(self, other: "Work") -> bool:
        """Return whether `other`, not done, is done before this begins."""
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
    """Work in the order in which it was told; does one thing at a time when asked.

    There is no limit to how much is queued: where the hardware holds a program until a queue has
    room, the program goes on here.

    Parameters
    ----------
    schedule : str
        ``in_turn``: first told, first done. ``random``: anything that the machine may do next.
    seed : int
        Of the random schedule.

    """

    def __init__(self, schedule: str, seed: int):
        if schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
        self.is_random = schedule == "random"
        self.rng = random.Random(seed)
        # A run in which loads are late finds other errors than one in which computes are.
        self.haste = self.rng.choice((0.0, 0.3, 0.8)) if self.is_random else 0.0
        kinds = ("load", "store", "compute", "nothing")
        self.speeds = {kind: self.rng.choice((0.01, 1.0)) for kind in kinds}
        self.pending: list[Work] = []

    def add(self, work: Work):
        """Queue `work`; refuse what nothing orders with work on the same bytes."""
        for other in self.pending:
            if hazard := describe_hazard(work, other):
                raise DeviceFault(hazard)
        self.pending.append(work)

    def advance(self) -> bool:
        """Do one thing that may be next; return whether there was one."""
        if not self.pending:
            return False
        work = self.pending[0]  # what it waits for was told before it
        if self.is_random:
            ready = [work for work in self.pending if not work.awaited]
            work = self.rng.choices(ready, [self.speeds[work.kind] for work in ready])[0]
        self.pending.remove(work)
        work.done, work.after, work.beside = True, (), ()
        work.act()
        return True

    def before_access(self):
        """Let time pass before an access: in turn, none."""
        while self.is_random and self.rng.random() < self.haste and self.advance():
            pass

    def after_poll(self):
        """Let time pass after a look at a status register, so that who polls gets on."""
        if not self.is_random or self.rng.random() < 0.5:
            self.advance()

    def describe(self) -> str:
        """Return what is not done, and what it waits for."""
        parts = []
        for work in self.pending[:TOLD]:
            awaited = " and ".join(other.what for other in work.awaited)
            parts.append(f"{work.what}, after {awaited}" if awaited else work.what)
        if len(self.pending) > TOLD:
            parts.append(f"{len(self.pending) - TOLD} more")
        return "; ".join(parts)


def describe_hazard(work: Work, other: Work) -> str | None:
    """Return in words why `work` must not be told before `other` is done, if so."""
    for verb, mine, does, theirs in (
        ("writes", work.writes, "reads", other.reads),
        ("writes", work.writes, "writes", other.writes),
        ("reads", work.reads, "writes", other.writes),
    ):
        for region in mine:
            if any(region.meets(used) for used in theirs) and not work.follows(other):
                return (
                    f"{work.what} {verb} {region}, which {other.what} {does} and has not done: "
                    f"nothing orders the two, wait for the first"
                )
    return None
