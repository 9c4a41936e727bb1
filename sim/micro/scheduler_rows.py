"""Rows: in which order each policy issues."""

from collections.abc import Iterator

import numpy as np

from ...hw.address_map import ENTRY
from ...hw.config import CoreConfig
from ...hw.core.stall_reason import StallReason
from ...hw.core.two_level import PATIENCE
from ...hw.isa.program import assemble_program
from ..core_machine import CoreMachine
from ..core_records import CoreRecords, Kind
from ..golden.core_scheduler import POLICIES, TwoLevel, make_scheduler
from .row import Row, Workbench, exactly
from .streams import Stream, program

__all__ = ["scheduler_rows"]

SMALL = {"warps": 4}
LENGTH = 240
#: What a warp that shows one of these waits for keeps it long.
LONG = {StallReason.MEMORY, StallReason.BARRIER, StallReason.IDLE}
#: Sums that depend on loads now and then, so that all warps are ready in some cycles and in others
#: none is.
WORK = Stream(["lw x10, 0(x8)", *["add x{d}, x8, x9"] * 5, "add x11, x10, x9", "add x11, x11, x9"])
NEVER = 1 << 62


def recorded(bench: Workbench, stream: Stream) -> CoreRecords:
    """Return everything that a run of a stream showed."""
    text = program(stream, LENGTH, warps=bench.core.warps)
    with CoreMachine(bench.config, record=(0, NEVER), **bench.options) as machine:
        code = assemble_program(text).data
        machine.write(ENTRY, code)
        machine.allow(ENTRY, len(code))
        machine.run()
        return machine.records()[0]


def by_cycle(rows: np.ndarray, first: int) -> dict[int, list[tuple[int, int]]]:
    """Return the changes of each cycle from `first` on: whose state, and what it is then."""
    news: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        news.setdefault(max(int(row["cycle"]), first), []).append((
            int(row["warp"]),
            int(row["extra"]),
        ))
    return news


def cycles(
    records: CoreRecords, warps: int
) -> Iterator[tuple[list[StallReason], StallReason, int | None]]:
    """Yield for each cycle why each warp is not ready, what became of the slot, and who issued."""
    reasons, slots = (by_cycle(records.of(kind), records.first) for kind in (Kind.WARP, Kind.SLOT))
    # What is issued enters collectors in the same order.
    issued = iter(records.of(Kind.COLLECTED)["warp"])
    waits, slot = [StallReason.IDLE] * warps, StallReason.IDLE
    for cycle in range(records.first, records.slots_end):
        for warp, reason in reasons.get(cycle, ()):
            waits[warp] = StallReason(reason)
        for _, reason in slots.get(cycle, ()):
            slot = StallReason(reason)
        yield waits, slot, int(next(issued)) if slot is StallReason.NONE else None


def wrong_choices(core: CoreConfig, records: CoreRecords, phase: int) -> int:
    """Return how many cycles the model of the policy would have issued another warp in, or none.

    Where it is two-level, `phase` is how far its patience had run out in the first cycle.
    """
    model = make_scheduler(core)
    if isinstance(model, TwoLevel):
        model.cycle = phase
    wrong = 0
    for reasons, slot, taken in cycles(records, core.warps):
        ready = {warp for warp, reason in enumerate(reasons) if reason is StallReason.NONE}
        long_wait = {warp for warp, reason in enumerate(reasons) if reason in LONG}
        if slot is not StallReason.FULL:  # then nobody can be issued
            wrong += model.choose(ready) != taken
        # Warps are started by number, which is how the model has them from the beginning.
        model.step(taken, long_wait, set())
    return wrong


def measure(bench: Workbench) -> float:
    """Return the least number of wrong choices of the model, whatever its phase."""
    records = recorded(bench, WORK)
    phases = range(PATIENCE) if bench.core.scheduler == "two_level" else range(1)
    return min(wrong_choices(bench.core, records, phase) for phase in phases)


def scheduler_rows() -> list[Row]:
    """Return how often each policy chose another warp than it should have."""
    return [
        Row(
            group="schedulers",
            name=f"{LENGTH} instructions of 4 warps: cycles with another choice",
            unit="cycles",
            limits=exactly(0),
            why="the model of the policy, given which warps were ready",
            measure=measure,
            change={**SMALL, "scheduler": policy},
        )
        for policy in POLICIES
    ]
