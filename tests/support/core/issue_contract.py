"""Contract of the issue stage: its outputs in a cycle, from the instructions in flight."""

from spica.hw.config import CoreConfig
from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.core.issue.warp_scoreboard import UNDER_WAY
from spica.hw.core.layouts import issue_layout
from support.core.issue_entry import Cycle, Entry, Flight, pack_entry
from support.core.issue_surroundings import RestOfCore
from support.core.scheduler_models import make_scheduler

__all__ = ["IssueContract"]

LONG_WAITS = (StallReason.MEMORY, StallReason.BARRIER, StallReason.IDLE)


class IssueContract:
    """Checks of the outputs of issue in each cycle.

    A warp is ready if nothing holds it back. A register with an outstanding result holds back an
    instruction that overwrites it. Readers wait for a time that other tests measure. The choice of
    the scheduler is issued whenever all slots are free, and offered from the next cycle on until it
    is accepted.

    Parameters
    ----------
    config : CoreConfig
    rest : RestOfCore
        The instructions in flight.

    """

    def __init__(self, config: CoreConfig, rest: RestOfCore):
        self.config, self.rest = config, rest
        self.scheduler = make_scheduler(config)
        self.slots = [StallReason.IDLE] * config.issue_width  # outcome of the last cycle
        self.offsets = {name: field.offset for name, field in issue_layout(config)}

    def check(self, cycle: Cycle, seen: dict) -> tuple[int | None, bool, int]:
        """Check a cycle; return the issuing warp, dual issue, and the number of accepted offers."""
        rest, warps = self.rest, range(self.config.warps)
        accepted = self.accepted(cycle, seen["o"])
        assert seen["slots"] == self.slots
        reasons = [StallReason(reason) for reason in seen["reason"]]
        for warp, reason in enumerate(reasons):
            allowed = self.reasons(warp, cycle)
            assert reason in allowed, f"warp {warp}: {reason!r}, not one of {allowed}"
        assert seen["drained"] == sum(1 << warp for warp in warps if not rest.under_way[warp])
        ready = {warp for warp, reason in enumerate(reasons) if reason == StallReason.NONE}
        room = accepted == len(rest.queue)
        winner = self.scheduler.choose(ready) if room else None
        assert seen["take"] == (0 if winner is None else 1 << winner)
        second = bool(seen["take_slot_1"])
        self.check_second(cycle, winner, second)
        long_wait = {warp for warp, reason in enumerate(reasons) if reason in LONG_WAITS}
        self.scheduler.step(winner, long_wait, cycle.started)
        self.slots = [StallReason.NONE] * self.config.issue_width
        if winner is None:
            why = StallReason.INACTIVE_SET if room else StallReason.COLLECTORS_FULL
            self.slots = [why if ready else min(reasons)] * self.config.issue_width
        elif not second:
            there = len(cycle.heads[winner]) > 1
            alone = StallReason.DUAL_ISSUE if there else StallReason.NO_INSTRUCTION
            self.slots[1:] = [alone] * (self.config.issue_width - 1)
        return winner, second, accepted

    def accepted(self, cycle: Cycle, offers: list[dict]) -> int:
        """Check the offers, the oldest first; return how many are accepted."""
        first, second = [*self.rest.queue[:2], None, None][:2]
        shown = [first] if first is not None else []
        if first is not None and second is not None and second.slot > first.slot:
            shown += [second] if cycle.ready[first.slot] else []
        for slot, offer in enumerate(offers):
            flight = next((candidate for candidate in shown if candidate.slot == slot), None)
            assert offer["valid"] == (flight is not None), f"offer of slot {slot}"
            if flight is not None:
                flight.waits = self.pending(flight)
                assert offer["payload"] == self.payload(flight), f"payload of slot {slot}"
        return sum(cycle.ready[flight.slot] for flight in shown)

    def pending(self, flight: Flight) -> list[bool]:
        """Return the operands that will arrive on a bus after this cycle."""
        coming = {one.number for one in self.rest.under_way[flight.warp]}
        coming -= {one.number for one in self.rest.written if one is not None}
        return [self.config.snoop and version in coming for version in flight.right]

    def payload(self, flight: Flight) -> int:
        """Return the offer of an instruction."""
        values = {
            "warp": flight.warp,
            "mask": flight.mask,
            "pending": sum(waits << k for k, waits in enumerate(flight.waits)),
            "beat": flight.beat,
            "instruction": pack_entry(self.config, flight.entry),
        }
        return sum(values[name] << offset for name, offset in self.offsets.items())

    def reasons(self, warp: int, cycle: Cycle) -> set[StallReason]:
        """Return the stall reasons that a warp may have."""
        rest, heads = self.rest, cycle.heads[warp]
        if warp not in cycle.active:
            return {StallReason.IDLE}
        if warp in rest.stopped:
            return {StallReason.BARRIER if warp in cycle.at_barrier else StallReason.BLOCKED}
        if not heads:
            return {StallReason.NO_INSTRUCTION}
        head, flights = heads[0], rest.under_way[warp]
        settled = not flights or (rest.only_products[warp] and not head.awaits_products)
        drains = sum(flight.responds for flight in flights) >= UNDER_WAY
        drains |= (head.serialises and not settled) or rest.usable.get(head.port) == 0
        others = {StallReason.DRAIN if drains else StallReason.NONE}
        must, may = self.hazards(warp, head)
        if StallReason.MEMORY in must:
            return {StallReason.MEMORY}
        return may if must else may | others

    def hazards(self, warp: int, entry: Entry) -> tuple[set[StallReason], set[StallReason]]:
        """Return the reasons of registers that hold back an instruction, and of those that may."""
        flights = self.rest.under_way[warp]
        loads = {one.entry.rd: one.is_load for one in flights if one.entry.writes}
        may = (entry.read_registers | entry.written_registers) & loads.keys()
        # A reader waits until the result is near.
        snoops = self.config.snoop and not entry.last
        must = may - entry.read_registers if snoops else may
        kinds = (StallReason.SCOREBOARD, StallReason.MEMORY)
        return {kinds[loads[rd]] for rd in must}, {kinds[loads[rd]] for rd in may}

    def check_second(self, cycle: Cycle, winner: int | None, second: bool):
        """Check whether the second instruction of a warp issues with the first."""
        heads = [] if winner is None else cycle.heads[winner]
        if winner is None or len(heads) < 2:
            assert not second
            return
        older, younger = heads
        touched = younger.read_registers | younger.written_registers
        held = older.stalls_warp or younger.serialises or older.port == younger.port
        held |= bool(older.last or younger.last) or self.rest.usable.get(younger.port) == 0
        held |= older.writes and older.rd in touched
        must, may = self.hazards(winner, younger)
        if held or must:
            assert not second, f"warp {winner} issued two instructions"
        elif not may:
            assert second, f"warp {winner} issued one instruction"
