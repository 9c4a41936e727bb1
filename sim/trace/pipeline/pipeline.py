"""Reconstruction of a core's pipeline trace from its records."""

from collections import defaultdict, deque

import numpy as np

from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.operations import Port
from ...harness.interface import HARNESS
from .core_records import CoreRecords
from .life import Life, Pipeline, Run, Transfer

__all__ = ["pipeline_of"]


class _Tracker:
    """Tracker of instructions through the records of one core."""

    def __init__(self, records: CoreRecords):
        self.records = records
        self.pipeline = Pipeline(records.core, records.first, records.end, records.sentence)
        # Cycle of the fetch request, by warp and address of the pair; then also of its response.
        self.requests: dict[tuple[int, int], int] = {}
        self.pairs: dict[tuple[int, int], tuple[int | None, int]] = {}
        self.waiting: dict[int, deque[int]] = defaultdict(deque)  # issue cycles, by slot
        self.orders: dict[int, int] = defaultdict(int)
        # Instructions of one warp and pc use the same port, so they stay in order until offered.
        self.gathering: dict[tuple[int, int], deque[Life]] = defaultdict(deque)
        self.executing: dict[tuple[int, int], deque[Life]] = defaultdict(deque)
        self.finishing: dict[tuple[int, int], list[Life]] = defaultdict(list)
        self.open: dict[int, Transfer] = {}
        self.results = 0
        self.issuing: dict[int, tuple[int, int]] = {}  # first cycle of a slot's state, and state

    def follow(self) -> Pipeline:
        """Return the pipeline trace."""
        kinds = HARNESS.enumeration("RecordKind")
        actions = {
            kinds.kFetch: self.fetch,
            kinds.kFetched: self.fetched,
            kinds.kCollected: self.collected,
            kinds.kDispatched: self.dispatched,
            kinds.kOffered: self.offered,
            kinds.kDone: self.done,
            kinds.kRequest: self.request,
            kinds.kResponse: self.response,
            kinds.kSlot: self.slot,
        }
        table = [actions.get(kind) for kind in kinds]
        for cycle, kind, _, warp, place, pc, mask, extra in self.records.rows.tolist():
            action = table[kind]
            if action is not None:
                action(cycle, warp, place, pc, mask, extra)
        records, pipeline = self.records, self.pipeline
        for life in pipeline.lives:
            if life.word is None:  # fetched before the window, possibly again later
                life.word = pipeline.words.get(life.pc)
        pipeline.warps = runs_of(records.of(kinds.kWarp), "warp", records.end)
        pipeline.slots = runs_of(records.of(kinds.kSlot), "place", records.slots_end)
        pipeline.faults = records.of(kinds.kFault)
        return pipeline

    def fetch(self, cycle, warp, place, pc, mask, extra):
        self.requests[warp, pc] = cycle

    def fetched(self, cycle, warp, place, pc, mask, extra):
        if warp == HARNESS.constant("kNoWarp"):  # requested before the window
            return
        requested = self.requests.pop((warp, pc), None)
        self.pairs[warp, pc] = (requested, cycle)
        self.pipeline.words.update({pc: mask, pc + 4: extra})
        if requested is not None:
            self.pipeline.fetches.append((requested, cycle, warp, pc))

    def slot(self, cycle, warp, place, pc, mask, extra):
        self.tally(place, cycle)
        self.issuing[place] = (cycle, extra)

    def tally(self, slot: int, end: int):
        """Record every cycle before `end` in which a slot issued."""
        start, state = self.issuing.get(slot, (end, StallReason.IDLE))
        if state == StallReason.NONE:
            self.waiting[slot].extend(range(start, end))
            self.issuing[slot] = (end, state)

    def collected(self, cycle, warp, place, pc, mask, extra):
        # The last issue of a slot is recorded after this event, and collected later.
        self.tally(place, cycle)
        issued = self.waiting[place].popleft() if self.waiting[place] else None
        requested, fetched = self.pairs.get((warp, pc & ~7), (None, None))
        life = Life(
            number=len(self.pipeline.lives),
            order=self.orders[warp],
            warp=warp,
            pc=pc,
            mask=mask,
            word=self.pipeline.words.get(pc),
            port=Port(extra & 0xFF),
            slot=place,
            collector=extra >> 16,
            pending=extra >> 8 & 0xFF,
            requested=requested,
            fetched=fetched,
            issued=issued,
            collected=cycle,
        )
        self.orders[warp] += 1
        self.pipeline.lives.append(life)
        self.gathering[warp, pc].append(life)

    def dispatched(self, cycle, warp, place, pc, mask, extra):
        if self.gathering[warp, pc]:
            life = self.gathering[warp, pc].popleft()
            life.dispatched = cycle
            self.executing[warp, pc].append(life)

    def offered(self, cycle, warp, place, pc, mask, extra):
        if self.executing[warp, pc]:
            life = self.executing[warp, pc].popleft()
            life.offered = cycle
            self.finishing[warp, pc].append(life)

    def done(self, cycle, warp, place, pc, mask, extra):
        number, self.results = self.results, self.results + 1
        if self.finishing[warp, pc]:
            life = self.finishing[warp, pc].pop(0)
            life.done = cycle
            life.bus, life.rd, life.flags = place, extra & 63, extra >> 16
            life.writes = bool(extra >> 8 & 1)
            life.result_mask = mask
            life.values = self.records.values[number]

    def request(self, cycle, warp, place, pc, mask, extra):
        transfer = Transfer(extra & 0x7FFF_FFFF, bool(extra >> 31), pc, mask, cycle)
        self.open[transfer.tag] = transfer
        self.pipeline.transfers.append(transfer)

    def response(self, cycle, warp, place, pc, mask, extra):
        if extra in self.open:
            transfer = self.open[extra]
            transfer.answered = cycle
            transfer.is_refused |= bool(place)


def pipeline_of(records: CoreRecords) -> Pipeline:
    """Return the pipeline trace of a core.

    Records identify an instruction by warp and pc. If two in flight share both, their order
    distinguishes them, since units keep it. Times may be swapped for two loads or stores without
    result that overtake each other in memory.
    """
    return _Tracker(records).follow()


def runs_of(rows: np.ndarray, name: str, end: int) -> list[list[Run]]:
    """Return the runs of each warp or slot: states that last until the next, or until `end`."""
    runs = []
    for number in range(int(rows[name].max()) + 1 if len(rows) else 0):
        own = rows[rows[name] == number]
        starts = own["cycle"].tolist()
        states = own["extra"].tolist()
        runs.append([
            Run(start, stop, state)
            for start, stop, state in zip(starts, [*starts[1:], end], states, strict=True)
            if start < stop
        ])
    return runs
