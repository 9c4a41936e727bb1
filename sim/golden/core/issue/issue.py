"""Golden model of the issue stage: the scoreboard as lists of outstanding results, by cycle."""

from dataclasses import dataclass, field, replace

from .....hw.config import PipelineConfig
from .....hw.core.issue.scoreboard import release_delay
from .....hw.core.issue.stall_reason import StallReason
from .....hw.core.issue.warp_scoreboard import FIXED_PORTS, UNDER_WAY
from .....hw.isa.operations import Port
from .scheduler import make_scheduler

__all__ = ["Cycle", "Entry", "IssueModel", "Offer", "Outcome"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A decoded instruction: the fields of `decoded_layout` used by issue."""

    pc: int = 0
    port: Port = Port.INT
    rd: int = 0
    writes: bool = False
    sources: tuple[int, ...] = (0, 0, 0)
    reads: tuple[bool, ...] = (False, False, False)
    stalls_warp: bool = False
    serialises: bool = False
    awaits_products: bool = False
    grouped: tuple[bool, ...] = (False, False, False, False)
    last: int = 0

    def group(self, first: int, field: int) -> set[int]:
        """Return the registers of the destination, field 0, or of a source, fields 1 to 3."""
        return set(range(first, first + 1 + self.last * self.grouped[field]))

    @property
    def read_registers(self) -> set[int]:
        """Registers that the instruction reads."""
        groups = [self.group(first, 1 + k) for k, first in enumerate(self.sources) if self.reads[k]]
        return set().union(*groups)

    @property
    def written_registers(self) -> set[int]:
        """Registers that the instruction writes."""
        return self.group(self.rd, 0) if self.writes else set()

    @property
    def results(self) -> int:
        """Results of the instruction, also if it writes none of them."""
        return len(self.group(self.rd, 0))

    def micro_operation(self, beat: int) -> "Entry":
        """Return micro-operation `beat` of an instruction with register groups."""
        rd, *sources = (
            number + beat * grouped
            for number, grouped in zip((self.rd, *self.sources), self.grouped, strict=True)
        )
        writes = self.writes and (self.grouped[0] or beat == self.last)
        reads = tuple(
            read and (beat == 0 or grouped)
            for read, grouped in zip(self.reads, self.grouped[1:], strict=True)
        )
        return replace(self, rd=rd, sources=tuple(sources), reads=reads, writes=writes)


@dataclass(frozen=True)
class Offer:
    """An instruction, or one of its micro-operations, offered to the collectors."""

    warp: int
    mask: int
    entry: Entry
    pending: tuple[bool, ...]
    beat: int = 0


@dataclass(kw_only=True)
class Cycle:
    """Inputs of a cycle: `heads[warp]` has up to `issue_width` entries; events are None or tuples.

    `dispatched` and `arriving` have ``(warp, rd)`` for each port, `written` has
    ``(warp, rd, writes)`` for each bus, `ready` a bit for each slot, `released` one for each port
    with credits.
    """

    heads: list[list[Entry]]
    masks: list[int]
    active: set[int]
    at_barrier: set[int]
    started: set[int]
    resume: set[int]
    dispatched: list[tuple[int, int] | None]
    arriving: list[tuple[int, int] | None]
    written: list[tuple[int, int, bool] | None]
    ready: list[bool]
    released: list[bool] = field(default_factory=list)


@dataclass(kw_only=True)
class Outcome:
    """Outputs of a cycle: issuing warp, dual issue, offers, slots, stall reasons, drained."""

    taken: int | None
    second: bool
    offered: list[Offer | None]
    slots: list[StallReason]
    reasons: list[StallReason]
    drained: set[int]


@dataclass
class Result:
    """An outstanding result."""

    loaded: bool
    blocked: bool = True


@dataclass
class Warp:
    """A warp: outstanding results by register, older first; instructions in flight; stalled.

    `product` has the registers with an outstanding result of ``hgmma``. If the warp is settled,
    nothing but a product was in flight in the previous cycle.
    """

    results: dict[int, list[Result]] = field(default_factory=dict)
    under_way: int = 0
    product: set[int] = field(default_factory=set)
    settled: bool = False
    stopped: bool = False


class IssueModel:
    """Golden model of the issue stage of a core."""

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.warps = [Warp() for _ in range(config.warps)]
        self.scheduler = make_scheduler(config)
        self.slots: list[Offer | None] = [None] * config.issue_width
        self.releases: list[tuple[int, int, int]] = []  # cycles left, warp, register
        self.credits = {port: config.credits(port) for port in config.credit_ports}

    def waits_for(self, warp: int, entry: Entry) -> list[Result]:
        """Return the results that must arrive before `entry` can issue."""
        results = {name: found[-1] for name, found in self.warps[warp].results.items()}
        if entry.last:
            touched = entry.read_registers | entry.written_registers
            return [results[name] for name in touched & set(results)]
        waits = [
            results[name]
            for name in entry.read_registers & set(results)
            if results[name].blocked or not self.config.snoop
        ]
        # An instruction cannot overtake a register that it reads itself.
        overtakes = entry.writes and entry.rd in set(results) - entry.read_registers
        return waits + ([results[entry.rd]] if overtakes else [])

    def reason(self, warp: int, cycle: Cycle) -> StallReason:
        """Return the stall reason of `warp`, NONE if it can issue."""
        state, heads = self.warps[warp], cycle.heads[warp]
        if warp not in cycle.active:
            return StallReason.IDLE
        if state.stopped:
            return StallReason.BARRIER if warp in cycle.at_barrier else StallReason.BLOCKED
        if not heads:
            return StallReason.NO_INSTRUCTION
        waits = self.waits_for(warp, heads[0])
        if waits:
            loads = any(result.loaded for result in waits)
            return StallReason.MEMORY if loads else StallReason.SCOREBOARD
        settled = not state.under_way or (state.settled and not heads[0].awaits_products)
        if state.under_way >= UNDER_WAY or (heads[0].serialises and not settled):
            return StallReason.DRAIN
        if self.credits.get(heads[0].port) == 0:
            return StallReason.DRAIN
        return StallReason.NONE

    def goes_with(self, warp: int, first: Entry, second: Entry) -> bool:
        """Return True if `second` can issue together with `first`."""
        touched = second.read_registers | second.written_registers
        depends = first.writes and first.rd in touched
        held = first.stalls_warp or second.serialises or first.port == second.port
        held |= bool(first.last or second.last) or self.credits.get(second.port) == 0
        return not (depends or held or self.waits_for(warp, second))

    def pending(self, warp: int, entry: Entry, cycle: Cycle) -> tuple[bool, ...]:
        """Return the sources that will arrive on a bus after this cycle."""
        if not self.config.snoop:
            return (False,) * 3
        left = {
            name: len(found) - cycle.written.count((warp, name, True))
            for name, found in self.warps[warp].results.items()
        }
        return tuple(
            read and left.get(name, 0) > 0
            for name, read in zip(entry.sources, entry.reads, strict=True)
        )

    def offer(self, cycle: Cycle) -> list[Offer | None]:
        """Return the offers; the younger only if the older is accepted or empty."""
        offered: list[Offer | None] = []
        for held in self.slots:
            if held is not None:
                pending = tuple(
                    waits and (held.warp, name, True) not in cycle.written
                    for name, waits in zip(held.entry.sources, held.pending, strict=True)
                )
                held = replace(held, pending=pending)
            offered.append(held)
        return offered

    def step(self, cycle: Cycle) -> Outcome:
        """Run one cycle."""
        reasons = [self.reason(warp, cycle) for warp in range(self.config.warps)]
        able = {warp for warp, why in enumerate(reasons) if why == StallReason.NONE}
        drained = {n for n, warp in enumerate(self.warps) if not warp.under_way}
        held = self.offer(cycle)
        self.slots = list(held)
        visible = [
            each and replace(each, entry=each.entry.micro_operation(each.beat)) for each in held
        ]
        for slot in range(self.config.issue_width):
            if slot and self.slots[0] is not None:
                visible[slot] = None
            elif cycle.ready[slot]:
                self.slots[slot] = self.next_offer(held[slot])
        room = not any(self.slots)
        chosen = self.scheduler.choose(able)
        taken = chosen if room else None
        issued = [] if taken is None else self.issue(taken, cycle)
        slots = self.charge(issued, cycle, taken, room=room, able=able, reasons=reasons)
        waits = (StallReason.MEMORY, StallReason.BARRIER, StallReason.IDLE)
        long_wait = {warp for warp, why in enumerate(reasons) if why in waits}
        self.scheduler.step(taken, long_wait, cycle.started)
        self.settle(cycle, taken, issued)
        return Outcome(
            taken=taken,
            second=len(issued) == 2,
            offered=visible,
            slots=slots,
            reasons=reasons,
            drained=drained,
        )

    def next_offer(self, held: Offer | None) -> Offer | None:
        """Return the micro-operation after an accepted one, None after the last."""
        if held is None or held.beat == held.entry.last:
            return None
        return replace(held, beat=held.beat + 1)

    def issue(self, warp: int, cycle: Cycle) -> list[Entry]:
        """Move the next instructions of `warp` into the slots; return them."""
        first, *rest = cycle.heads[warp]
        issued = [first]
        if rest and self.config.issue_width > 1 and self.goes_with(warp, first, rest[0]):
            issued.append(rest[0])
        for slot, entry in enumerate(issued):
            pending = self.pending(warp, entry, cycle)
            self.slots[slot] = Offer(warp, cycle.masks[warp], entry, pending)
        return issued

    def charge(
        self, issued: list, cycle: Cycle, taken: int | None, *, room: bool, able: set, reasons: list
    ) -> list[StallReason]:
        """Return the outcome of each issue slot."""
        if taken is not None:
            there = len(cycle.heads[taken]) > 1
            alone = StallReason.DUAL_ISSUE if there else StallReason.NO_INSTRUCTION
            return [StallReason.NONE if n < len(issued) else alone for n in range(len(self.slots))]
        why = min(reasons)
        if able:
            why = StallReason.INACTIVE_SET if room else StallReason.COLLECTORS_FULL
        return [why] * len(self.slots)

    def settle(self, cycle: Cycle, taken: int | None, issued: list[Entry]):
        """End the cycle: completed, announced and issued instructions."""
        self.release(cycle)
        for number, state in enumerate(self.warps):
            only_products = self.config.tensor == "hgmma" and state.under_way == len(state.product)
            state.settled = only_products and number != taken
        for done in cycle.written:
            if done is not None:
                warp, rd, writes = done
                self.warps[warp].under_way -= 1
                self.warps[warp].product.discard(rd)
                if writes:
                    self.written(self.warps[warp], rd)
        for warp in cycle.resume | cycle.started:
            self.warps[warp].stopped = False
        for port, is_released in zip(self.credits, cycle.released, strict=False):
            self.credits[port] += is_released
        for entry in issued:
            assert taken is not None
            if entry.port in self.credits:
                self.credits[entry.port] -= 1
            state = self.warps[taken]
            state.under_way += entry.results
            if self.config.tensor == "hgmma" and entry.last:
                state.product |= entry.written_registers
            state.stopped |= entry.stalls_warp
            for rd in entry.written_registers:
                result = Result(entry.port == Port.MEMORY)
                state.results.setdefault(rd, []).append(result)

    def written(self, warp: Warp, rd: int):
        """Remove the oldest result of a register, which is now in the banks."""
        warp.results[rd].pop(0)
        if not warp.results[rd]:
            del warp.results[rd]

    def release(self, cycle: Cycle):
        """Unblock the consumers of results that will arrive in time."""
        for port, event in zip(FIXED_PORTS, cycle.dispatched, strict=True):
            if event is not None:
                self.releases.append((release_delay(self.config, port), *event))
        self.releases += [(0, *event) for event in cycle.arriving if event is not None]
        for _, warp, rd in [release for release in self.releases if release[0] == 0]:
            if rd in self.warps[warp].results:
                self.warps[warp].results[rd][0].blocked = False
        self.releases = [(left - 1, warp, rd) for left, warp, rd in self.releases if left]
