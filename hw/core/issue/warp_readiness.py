"""Readiness of warps: those that can issue, and the stall reasons of the others."""

from collections.abc import Sequence

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.interfaces.execution_unit import OPERANDS
from ..front_end_layouts import head_layout
from ..warp_state import WarpStateSignature
from .scoreboard_events import ClaimSignature
from .stall_reason import StallReason, reason_of_each, waits_layout
from .warp_scoreboard import HazardSignature

__all__ = ["ReadinessSignature", "WarpReadiness"]


class ReadinessSignature(wiring.Signature):
    """Warps that can issue, and the reasons why others cannot.

    Members
    -------
    ready, ready_slot_1 : Out(warps)
        The next instruction can issue; if it issues, so can the second.
    pending : Out(ArrayLayout(ArrayLayout(3, issue_width), warps))
        Pending sources, including those written in this cycle.
    waits : Out(waits_layout(config))
        Warps that are not ready, by reason.
    """

    def __init__(self, config: PipelineConfig):
        pending = data.ArrayLayout(OPERANDS, config.issue_width)
        super().__init__({
            "ready": Out(config.warps),
            "ready_slot_1": Out(config.warps),
            "pending": Out(data.ArrayLayout(pending, config.warps)),
            "waits": Out(waits_layout(config)),
        })


class WarpReadiness(Component):
    """Readiness of warps, from the hazards of their registers and from their state.

    Combinational, except that an instruction that stalls its warp does so from the next cycle on.
    An acquire stalls its warp until everything in flight has completed. Then `acquired` is set for
    a cycle, and the warp can issue from the next one on.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    heads, active, warps, claims, exhausted, readiness, drained, reason
        As in `Scoreboard`.
    board : In(HazardSignature(config)).array(warps)
    acquired : Out(1)
        With atomics: see `Scoreboard`.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps = config.warps
        super().__init__({
            "heads": In(head_layout(config)).array(config.issue_width, warps),
            "active": In(warps),
            "warps": In(WarpStateSignature(config)),
            "claims": In(ClaimSignature(config)),
            "exhausted": In(len(config.credit_ports)),
            "board": In(HazardSignature(config)).array(warps),
            "readiness": Out(ReadinessSignature(config)),
            "drained": Out(warps),
            "reason": Out(data.ArrayLayout(StallReason, warps)),
            **({"acquired": Out(1)} if config.atomics else {}),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.drained.eq(Cat(board.drained for board in self.board))
        for warp, board in enumerate(self.board):
            m.d.comb += self.readiness.pending[warp].eq(board.pending)
        self.select_ready(m)
        return m

    def select_ready(self, m: Module):
        """Compute the warps that can issue, and the stall reasons of the others."""
        readiness = self.readiness
        stopped = Signal(self.config.warps)  # stalled until the warp is resumed
        slots = [self.claims.slots[slot] for slot in range(self.config.issue_width)]
        stalls_warp = Cat(slot.valid & slot.stalls_warp for slot in slots).any()
        m.d.sync += stopped.eq(
            (stopped & ~(self.warps.resume | self.warps.started))
            | (self.claims.grant & stalls_warp.replicate(self.config.warps))
        )
        first, serialises = self.column(0, "valid"), self.column(0, "serialises")
        hazard = Cat(board.hazard[0] for board in self.board)
        memory = Cat(board.memory for board in self.board)
        crowded = Cat(board.crowded for board in self.board)
        drained = self.drained
        if self.config.awaits_products:
            settled = Cat(board.settled for board in self.board)
            settled &= ~self.column(0, "awaits_products")
            drained = drained | settled
        if self.config.atomics:
            crowded |= self.acquire(m, slots)
        runs = Signal(self.config.warps)
        free = Signal(self.config.warps)
        undrained = Signal(self.config.warps)
        m.d.comb += [
            runs.eq(self.active & ~stopped),
            free.eq(runs & first),
            undrained.eq((serialises & ~drained) | crowded | self.without_credit(0)),
            readiness.ready.eq(free & ~hazard & ~undrained),
            readiness.waits.scoreboard.eq(free & hazard & ~memory),
            readiness.waits.memory.eq(free & memory),
            readiness.waits.drain.eq(free & ~hazard & undrained),
            readiness.waits.blocked.eq(self.active & stopped & ~self.warps.at_barrier),
            readiness.waits.no_instruction.eq(runs & ~first),
            readiness.waits.barrier.eq(self.active & stopped & self.warps.at_barrier),
            readiness.waits.idle.eq(~self.active),
            Value.cast(self.reason).eq(Cat(reason_of_each(readiness.waits, self.config.warps))),
        ]
        if self.config.issue_width > 1:
            hazard = Cat(board.hazard[1] for board in self.board)
            held = hazard | self.column(0, "stalls_warp") | self.column(1, "serialises")
            held |= self.without_credit(1)
            if self.config.atomics:
                held |= self.column(0, "acquires")
            m.d.comb += readiness.ready_slot_1.eq(self.column(1, "valid") & ~held)

    def acquire(self, m: Module, slots: Sequence[data.View]) -> Value:
        """Return the warps with an acquire that has not taken effect."""
        acquiring, acquires = Signal(self.config.warps), Signal()
        m.d.comb += [
            acquires.eq(Cat(slot.valid & slot.acquires for slot in slots).any()),
            self.acquired.eq((acquiring & self.drained).any()),
        ]
        m.d.sync += acquiring.eq(
            (acquiring & ~self.drained)
            | (self.claims.grant & acquires.replicate(self.config.warps))
        )
        return acquiring

    def without_credit(self, slot: int) -> Value:
        """Return the warps whose entry of a slot is for a port without a credit."""
        waiting = Const(0, self.config.warps)
        for number, port in enumerate(self.config.credit_ports):
            waits = Cat(one.instruction.port == port for one in self.heads[slot])
            waiting = waiting | (waits & self.exhausted[number].replicate(self.config.warps))
        return waiting

    def column(self, slot: int, field: str) -> Value:
        """Return a field of the entries of a slot, one bit per warp."""
        heads = self.heads[slot]
        return Cat(one.valid if field == "valid" else one.instruction[field] for one in heads)
