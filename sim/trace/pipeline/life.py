"""What is known of a core in some cycles: the life of each instruction, and what held it up."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.operations import Port

__all__ = ["STAGES", "Life", "Pipeline", "Run", "Transfer", "held_up", "slot_totals", "stages_of"]

#: What an instruction goes through, in this order.
STAGES = {
    "F": "fetch: memory was asked for its words",
    "B": "buffer: decoded, until it is issued",
    "I": "issue: on its way to a collector",
    "C": "collect: gathers its operands, and waits for its unit",
    "X": "execute: in its unit",
    "W": "write back: its result waits for a bus, and is written",
}


@dataclass(slots=True)
class Life:
    """One instruction of a warp; what lies outside the records is None.

    Attributes
    ----------
    number : int
        In the order in which the core's instructions got their collectors.
    order : int
        The same, counting those of its warp.
    warp, pc, mask : int
    word : int or None
        The instruction itself.
    port : Port
    slot, collector, pending : int
        Its issue slot and collector; a bit for each operand that came over a bus.
    requested, fetched : int or None
        The cycles in which memory was asked for its words, and in which they came.
    issued : int or None
        The cycle in which it left its buffer.
    collected : int
        The cycle in which a collector took it.
    dispatched : int or None
        The cycle in which its unit took it, with its operands.
    offered : int or None
        The first cycle in which its unit had a result.
    done : int or None
        The cycle in which the result was on a bus and written.
    bus, rd, flags : int
        Of the result; -1 before there is one.
    writes : bool
    result_mask : int
        Threads of the result; not those of `mask` where the instruction changed them.
    values : numpy.ndarray or None
        The result of each thread.

    """

    number: int
    order: int
    warp: int
    pc: int
    mask: int
    word: int | None
    port: Port
    slot: int
    collector: int
    pending: int
    requested: int | None
    fetched: int | None
    issued: int | None
    collected: int
    dispatched: int | None = None
    offered: int | None = None
    done: int | None = None
    bus: int = -1
    rd: int = -1
    flags: int = 0
    writes: bool = False
    result_mask: int = 0
    values: np.ndarray | None = field(default=None, repr=False)

    @property
    def times(self) -> tuple[int | None, ...]:
        """The cycles in which something happened to it, in their order."""
        before = (self.requested, self.fetched, self.issued, self.collected)
        return (*before, self.dispatched, self.offered, self.done)


@dataclass(frozen=True, slots=True)
class Run:
    """A state that lasted from `start` until before `end`."""

    start: int
    end: int
    state: int


@dataclass(slots=True)
class Transfer:
    """A request that memory accepted, and the cycle of its last answer, if there was one."""

    tag: int
    is_store: bool
    address: int
    mask: int
    accepted: int
    answered: int | None = None
    is_refused: bool = False


@dataclass
class Pipeline:
    """What happened in a core in the cycles from `first` until before `end`.

    Attributes
    ----------
    lives : list of Life
        In the order in which instructions got their collectors.
    warps : list of list of Run
        `StallReason` of each warp.
    slots : list of list of Run
        `StallReason` of each issue slot.
    transfers : list of Transfer
    fetches : list of (int, int, int, int)
        Cycle of the request, cycle of the answer, warp and address of each pair of words.
    faults : numpy.ndarray
        Records of `Kind.FAULT`.
    words : dict of int to int
        Instructions by their addresses, as they were fetched.

    """

    core: int
    first: int
    end: int
    sentence: str
    lives: list[Life] = field(default_factory=list)
    warps: list[list[Run]] = field(default_factory=list)
    slots: list[list[Run]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    fetches: list[tuple[int, int, int, int]] = field(default_factory=list)
    faults: np.ndarray = field(default_factory=lambda: np.empty(0))
    words: dict[int, int] = field(default_factory=dict)


def slot_totals(pipeline: Pipeline) -> dict[StallReason, int]:
    """Return in how many cycles of all slots nothing was issued, by reason; NONE where it was."""
    totals = dict.fromkeys(StallReason, 0)
    for runs in pipeline.slots:
        for run in runs:
            totals[StallReason(run.state)] += run.end - run.start
    return totals


def stages_of(life: Life, end: int) -> list[tuple[str, int, int]]:
    """Return letter, first cycle and end of each stage that is known, one after the other.

    An instruction is in F from the cycle of the request to that of the answer, in B to that in
    which it is issued, in I to that in which a collector takes it, in C to that before its unit
    takes it, in X to that before the unit has its result, and in W to that in which it is done.
    The last stage of what is not done lasts to `end`, the end of the records.
    """
    after = [
        life.requested,
        *(None if time is None else time + 1 for time in (life.fetched, life.issued)),
        life.collected + 1,
        life.dispatched,
        life.offered,
        None if life.done is None else life.done + 1,
    ]
    spans = list(zip(STAGES, after, after[1:], strict=False))
    known = [(x, a, b) for x, a, b in spans if a is not None and b is not None]
    if life.done is None:
        letter, start = next((x, a) for x, a, _ in reversed(spans) if a is not None)
        known.append((letter, start, max(end, start + 1)))
    return known


def held_up(pipeline: Pipeline) -> dict[int, list[tuple[str, int, int]]]:
    """Return for each life, by number, what kept it from going on: what, from when, until when.

    ``data`` and its like: the `StallReason` of the warp, while the instruction was the next of
    its warp; ``turn``: nothing of its own, another warp was chosen or no slot was free;
    ``full``: no collector was free; ``bus``: no writeback bus or register bank was.
    """
    waits = [iter(runs) for runs in pipeline.warps]
    run = [next(runs, None) for runs in waits]
    ahead: dict[int, int | None] = {}  # when the instruction before it was issued, by warp
    found = {}
    for life in pipeline.lives:
        holds = []
        before = ahead.get(life.warp)
        ahead[life.warp] = life.issued
        if life.issued is not None and life.fetched is not None:
            start = max(life.fetched, -1 if before is None else before) + 1
            run[life.warp], holds = reasons_of(run[life.warp], waits[life.warp], start, life.issued)
        if life.issued is not None:
            holds.append(("full", life.issued + 1, life.collected))
        if life.offered is not None and life.done is not None:
            holds.append(("bus", life.offered, life.done))
        found[life.number] = [hold for hold in holds if hold[1] < hold[2]]
    return found


def reasons_of(
    run: Run | None, rest: Iterator[Run], start: int, end: int
) -> tuple[Run | None, list[tuple[str, int, int]]]:
    """Return the reasons of a warp between two cycles, and the run at the second of them.

    `run` and `rest` are the warp's runs from some cycle before `start` on.
    """
    holds = []
    while run is not None and run.start < end:
        if run.end > start:
            name = StallReason(run.state).name.lower() if run.state else "turn"
            holds.append((name, max(start, run.start), min(end, run.end)))
        if run.end > end:
            break
        run = next(rest, None)
    return run, holds
