"""Pipeline trace of a core: stages and stalls of each instruction in a window of cycles."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.operations import Port

__all__ = ["STAGES", "Life", "Pipeline", "Run", "Transfer", "held_up", "slot_totals", "stages_of"]

#: Stages of an instruction, in order.
STAGES = {
    "F": "fetch: requested from memory",
    "B": "buffer: decoded, until it is issued",
    "I": "issue: from its buffer to a collector",
    "C": "collect: reads its operands and waits for its unit",
    "X": "execute: in its unit",
    "W": "write back: its result waits for a bus and is written",
}


@dataclass(slots=True)
class Life:
    """One instruction of a warp; events outside the records are None.

    Attributes
    ----------
    number : int
        Number in the core, in the order of collection.
    order : int
        Number in its warp, in the same order.
    warp, pc, mask : int
    word : int or None
        The instruction word.
    port : Port
    slot, collector, pending : int
        Issue slot; collector; mask of the operands received over a bus.
    requested, fetched : int or None
        Cycle of the fetch request, and of its response.
    issued : int or None
        Cycle in which it left its buffer.
    collected : int
        Cycle in which it entered a collector.
    dispatched : int or None
        Cycle in which it entered its unit, with its operands.
    offered : int or None
        First cycle in which its unit had a result.
    done : int or None
        Cycle in which the result was on a bus and written.
    bus, rd, flags : int
        Bus, destination and flags of the result; -1 without a result.
    writes : bool
    result_mask : int
        Threads of the result; differs from `mask` if the instruction changed the mask.
    values : numpy.ndarray or None
        Result of each thread.

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
        """Cycles of its events, in order."""
        before = (self.requested, self.fetched, self.issued, self.collected)
        return (*before, self.dispatched, self.offered, self.done)


@dataclass(frozen=True, slots=True)
class Run:
    """A state that lasts from `start` to before `end`."""

    start: int
    end: int
    state: int


@dataclass(slots=True)
class Transfer:
    """A request that memory accepted, and the cycle of its last response, if any."""

    tag: int
    is_store: bool
    address: int
    mask: int
    accepted: int
    answered: int | None = None
    is_refused: bool = False


@dataclass
class Pipeline:
    """Trace of a core in the cycles from `first` to before `end`.

    Attributes
    ----------
    lives : list of Life
        Instructions in the order of collection.
    warps : list of list of Run
        `StallReason` of each warp.
    slots : list of list of Run
        `StallReason` of each issue slot.
    transfers : list of Transfer
    fetches : list of (int, int, int, int)
        Cycle of the request, cycle of the response, warp and address of each pair of words.
    faults : numpy.ndarray
        Records of `kFault`.
    words : dict of int to int
        Fetched instruction words by address.

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
    """Return the cycles of all issue slots by stall reason; NONE counts issued instructions."""
    totals = dict.fromkeys(StallReason, 0)
    for runs in pipeline.slots:
        for run in runs:
            totals[StallReason(run.state)] += run.end - run.start
    return totals


def stages_of(life: Life, end: int) -> list[tuple[str, int, int]]:
    """Return letter, first cycle and end of each known stage, in order.

    Each stage ends with the cycle of an event: F with the fetch response, B with the issue, I with
    the collection, W with the completion. C ends before the cycle of the dispatch, X before the
    unit has the result. F begins with the fetch request. If the instruction is not done, its last
    stage lasts to `end`, the end of the records.
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
    """Return the stalls of each instruction by its number: name, first cycle, end.

    Names: ``data`` and others, the `StallReason` of the warp while the instruction was the next of
    its warp; ``turn``, another warp was selected or no slot was free; ``full``, no collector was
    free; ``bus``, no writeback bus or register bank was free.
    """
    waits = [iter(runs) for runs in pipeline.warps]
    run = [next(runs, None) for runs in waits]
    ahead: dict[int, int | None] = {}  # issue cycle of the previous instruction, by warp
    holds_of = {}
    for life in pipeline.lives:
        holds = []
        before = ahead.get(life.warp)
        ahead[life.warp] = life.issued
        if life.issued is not None and life.fetched is not None:
            start = max(life.fetched, -1 if before is None else before) + 1
            run[life.warp], holds = reasons_of(run[life.warp], waits[life.warp], start, life.issued)
        if life.issued is not None:
            holds.append(("collectors_full", life.issued + 1, life.collected))
        if life.offered is not None and life.done is not None:
            holds.append(("bus", life.offered, life.done))
        holds_of[life.number] = [hold for hold in holds if hold[1] < hold[2]]
    return holds_of


def reasons_of(
    run: Run | None, rest: Iterator[Run], start: int, end: int
) -> tuple[Run | None, list[tuple[str, int, int]]]:
    """Return the stall reasons of a warp from `start` to before `end`, and the run at `end`.

    `run` and `rest` are the warp's runs from a cycle before `start` on.
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
