"""Rows: issue order of each scheduling policy."""

from collections.abc import Iterator

import numpy as np

from ...hw.config import CoreConfig
from ...hw.core.issue.stall_reason import StallReason
from ...hw.core.issue.two_level import PATIENCE
from ...hw.isa.memory_map import ENTRY
from ...hw.isa.program import assemble_program
from ..golden.core.issue.scheduler import POLICIES, TwoLevel, make_scheduler
from ..harness.interface import HARNESS
from ..machine.program_machine import ProgramMachine
from ..trace.pipeline.core_records import CoreRecords
from .row import Row, Workbench, exactly
from .unrolled_code import Stream, program

__all__ = ["scheduler_rows"]

SMALL = {"warps": 4}
LENGTH = 240
#: Stall reasons that count as long waits.
LONG = {StallReason.MEMORY, StallReason.BARRIER, StallReason.IDLE}
#: Sums that depend on loads now and then: in some cycles all warps are ready, in others none.
WORK = Stream(["lw x10, 0(x8)", *["add x{d}, x8, x9"] * 5, "add x11, x10, x9", "add x11, x11, x9"])
NEVER = 1 << 62


def recorded(bench: Workbench, stream: Stream) -> CoreRecords:
    """Return the records of a run of a stream."""
    text = program(stream, LENGTH, warps=bench.core.warps)
    with ProgramMachine(bench.config, record=(0, NEVER), **bench.options) as machine:
        code = assemble_program(text).data
        machine.write(ENTRY, code)
        machine.allow(ENTRY, len(code))
        machine.run()
        return machine.records()[0]


def by_cycle(rows: np.ndarray, first: int) -> dict[int, list[tuple[int, int]]]:
    """Return the changes of each cycle from `first` on: warp and new state."""
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
    """Yield for each cycle the stall reason of each warp, the slot's outcome, the issuing warp."""
    kinds = HARNESS.enumeration("RecordKind")
    reasons, slots = (
        by_cycle(records.of(kind), records.first) for kind in (kinds.kWarp, kinds.kSlot)
    )
    # Instructions enter collectors in issue order.
    issued = iter(records.of(kinds.kCollected)["warp"])
    waits, slot = [StallReason.IDLE] * warps, StallReason.IDLE
    for cycle in range(records.first, records.slots_end):
        for warp, reason in reasons.get(cycle, ()):
            waits[warp] = StallReason(reason)
        for _, reason in slots.get(cycle, ()):
            slot = StallReason(reason)
        yield waits, slot, int(next(issued)) if slot is StallReason.NONE else None


def wrong_choices(core: CoreConfig, records: CoreRecords, phase: int) -> int:
    """Return the number of cycles in which the policy's model would issue another warp or none.

    For the two-level policy, `phase` is its patience counter in the first cycle.
    """
    model = make_scheduler(core)
    if isinstance(model, TwoLevel):
        model.cycle = phase
    wrong = 0
    for reasons, slot, taken in cycles(records, core.warps):
        ready = {warp for warp, reason in enumerate(reasons) if reason is StallReason.NONE}
        long_wait = {warp for warp, reason in enumerate(reasons) if reason in LONG}
        if slot is not StallReason.COLLECTORS_FULL:  # otherwise no warp can issue
            wrong += model.choose(ready) != taken
        # Warps start in order of their index, as in the model's initial state.
        model.step(taken, long_wait, set())
    return wrong


def measure(bench: Workbench) -> float:
    """Return the minimum number of wrong choices over all phases."""
    records = recorded(bench, WORK)
    phases = range(PATIENCE) if bench.core.scheduler == "two_level" else range(1)
    return min(wrong_choices(bench.core, records, phase) for phase in phases)


def scheduler_rows() -> list[Row]:
    """Return the number of wrong choices of each policy."""
    return [
        Row(
            group="schedulers",
            name=f"{LENGTH} instructions of 4 warps: cycles with another choice",
            unit="cycles",
            limits=exactly(0),
            why="model of the policy, with the same ready warps",
            measure=measure,
            change={**SMALL, "scheduler": policy},
        )
        for policy in POLICIES
    ]
