"""From the records of a core to the life of each instruction."""

from collections import defaultdict, deque

import numpy as np

from ....hw.core.issue.stall_reason import StallReason
from ....hw.isa.operations import Port
from .core_records import NO_WARP, CoreRecords, Kind
from .life import Life, Pipeline, Run, Transfer

__all__ = ["pipeline_of"]


class _Tracker:
    """Follows instructions through the records of one core."""

    def __init__(self, records: CoreRecords):
        self.records = records
        self.pipeline = Pipeline(records.core, records.first, records.end, records.sentence)
        self.asked: dict[tuple[int, int], int] = {}  # when, by warp and address of the pair
        self.pairs: dict[tuple[int, int], tuple[int | None, int]] = {}  # and when it came
        self.waiting: dict[int, deque[int]] = defaultdict(deque)  # issued, by slot
        self.orders: dict[int, int] = defaultdict(int)
        # Instructions of one warp and pc stay in order until they are offered: they have one port.
        self.gathering: dict[tuple[int, int], deque[Life]] = defaultdict(deque)
        self.executing: dict[tuple[int, int], deque[Life]] = defaultdict(deque)
        self.finishing: dict[tuple[int, int], list[Life]] = defaultdict(list)
        self.open: dict[int, Transfer] = {}
        self.results = 0
        self.issuing: dict[int, tuple[int, int]] = {}  # since when a slot is in its state

    def follow(self) -> Pipeline:
        """Return what happened."""
        actions = {
            Kind.FETCH: self.fetch,
            Kind.FETCHED: self.fetched,
            Kind.COLLECTED: self.collected,
            Kind.DISPATCHED: self.dispatched,
            Kind.OFFERED: self.offered,
            Kind.DONE: self.done,
            Kind.REQUEST: self.request,
            Kind.RESPONSE: self.response,
            Kind.SLOT: self.slot,
        }
        table = [actions.get(kind) for kind in Kind]
        for cycle, kind, _, warp, place, pc, mask, extra in self.records.rows.tolist():
            action = table[kind]
            if action is not None:
                action(cycle, warp, place, pc, mask, extra)
        records, pipeline = self.records, self.pipeline
        for life in pipeline.lives:
            if life.word is None:  # fetched before the window, and perhaps again later
                life.word = pipeline.words.get(life.pc)
        pipeline.warps = runs_of(records.of(Kind.WARP), "warp", records.end)
        pipeline.slots = runs_of(records.of(Kind.SLOT), "place", records.slots_end)
        pipeline.faults = records.of(Kind.FAULT)
        return pipeline

    def fetch(self, cycle, warp, place, pc, mask, extra):
        self.asked[warp, pc] = cycle

    def fetched(self, cycle, warp, place, pc, mask, extra):
        if warp == NO_WARP:  # asked for before the window
            return
        asked = self.asked.pop((warp, pc), None)
        self.pairs[warp, pc] = (asked, cycle)
        self.pipeline.words.update({pc: mask, pc + 4: extra})
        if asked is not None:
            self.pipeline.fetches.append((asked, cycle, warp, pc))

    def slot(self, cycle, warp, place, pc, mask, extra):
        self.tally(place, cycle)
        self.issuing[place] = (cycle, extra)

    def tally(self, slot: int, end: int):
        """Take down every cycle before `end` in which a slot issued."""
        start, state = self.issuing.get(slot, (end, StallReason.IDLE))
        if state == StallReason.NONE:
            self.waiting[slot].extend(range(start, end))
            self.issuing[slot] = (end, state)

    def collected(self, cycle, warp, place, pc, mask, extra):
        # What a slot issued last is recorded after this, and collected later.
        self.tally(place, cycle)
        issued = self.waiting[place].popleft() if self.waiting[place] else None
        asked, fetched = self.pairs.get((warp, pc & ~7), (None, None))
        life = Life(
            number=len(self.pipeline.lives),
            order=self.orders[warp],
            warp=warp,
            pc=pc,
            mask=mask,
            word=self.pipeline.words.get(pc),
            port=Port(extra & 7),
            slot=place,
            collector=extra >> 16,
            pending=extra >> 8 & 7,
            requested=asked,
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
    """Return what happened in a core.

    Records tell of an instruction its warp and its pc. Two in flight that have both in common are
    told apart by their order, in which units take them and give results; of two loads or stores
    of no result that overtake each other in memory, times may be exchanged.
    """
    return _Tracker(records).follow()


def runs_of(rows: np.ndarray, name: str, end: int) -> list[list[Run]]:
    """Return the runs of each warp or slot: states that last until the next, or until `end`."""
    found = []
    for number in range(int(rows[name].max()) + 1 if len(rows) else 0):
        own = rows[rows[name] == number]
        starts = own["cycle"].tolist()
        states = own["extra"].tolist()
        found.append([
            Run(start, stop, state)
            for start, stop, state in zip(starts, [*starts[1:], end], states, strict=True)
            if start < stop
        ])
    return found
