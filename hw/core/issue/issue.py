"""Issue stage: sends the next one or two instructions of one warp per cycle to collectors."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ..front_end_layouts import head_layout
from ..layouts import issue_layout
from ..warp_state import WarpStateSignature
from .instruction_selection import InstructionSelection
from .issue_credits import IssueCredits
from .issue_slot import IssueSlot
from .scheduler import Scheduler
from .scoreboard import Scoreboard
from .scoreboard_events import ScoreboardEventsSignature
from .stall_reason import StallReason

__all__ = ["Issue"]


class Issue(SharedBlock):
    """Issue stage: takes instructions from the buffer heads when the scoreboard allows.

    A head in one cycle is offered on `o` in the next. While collectors accept, instructions of one
    warp follow each other without a gap. With an `issue_width` of 2 the second instruction issues
    together with the first, if it depends neither on the first nor on a pending result, goes to
    another port, and the first does not stall the warp. `o[1]` is the younger instruction, offered
    only if `o[0]` is accepted or empty.

    Members
    -------
    heads : In(head_layout(config)).array(issue_width, warps)
        Next instruction of each warp, and with an `issue_width` of 2 the one after it.
    take : Out(warps), take_slot_1 : Out(1)
        One-hot warp whose head leaves its buffer; the instruction after it leaves as well.
    active : In(warps)
    warps : In(WarpStateSignature(config))
    released : In(len(config.credit_ports))
        Units that return a credit; see `IssueCredits`.
    o : Out(stream.Signature(issue_layout(config))).array(issue_width)
    results : In(ScoreboardEventsSignature(config))
    drained : Out(warps)
        The warp has nothing in flight.
    reason : Out(ArrayLayout(StallReason, warps))
        Reason why each warp is not ready.
    slots : Out(ArrayLayout(StallReason, issue_width))
        Outcome of each issue slot in the last cycle: NONE if issued, else the stall reason.
    acquired : Out(1)
        With atomics: an acquire takes effect; loads from the next cycle on must return new data.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps, width = config.warps, config.issue_width
        super().__init__({
            "heads": In(head_layout(config)).array(width, warps),
            "take": Out(warps),
            "take_slot_1": Out(1),
            "active": In(warps),
            "warps": In(WarpStateSignature(config)),
            "released": In(len(config.credit_ports)),
            "o": Out(stream.Signature(issue_layout(config))).array(width),
            "results": In(ScoreboardEventsSignature(config)),
            "drained": Out(warps),
            "reason": Out(data.ArrayLayout(StallReason, warps)),
            "slots": Out(data.ArrayLayout(StallReason, width)),
            **({"acquired": Out(1)} if config.atomics else {}),
        })

    def build(self, platform):
        m = Module()
        m.submodules.scoreboard = scoreboard = Scoreboard(self.config)
        m.submodules.scheduler = scheduler = Scheduler(self.config)
        m.submodules.selection = selection = InstructionSelection(self.config)
        m.submodules.credits = credits = IssueCredits(self.config)
        connect(m, flipped(self.warps), scoreboard.warps, selection.warps)
        connect(m, flipped(self.results), scoreboard.results)
        connect(m, scoreboard.readiness, selection.readiness)
        connect(m, selection.scheduling, scheduler.warps)
        connect(m, selection.claims, scoreboard.claims)
        for slot, heads in enumerate(self.heads):
            for warp, head in enumerate(heads):
                m.d.comb += [
                    scoreboard.heads[slot][warp].eq(head),
                    selection.heads[slot][warp].eq(head),
                ]
        m.d.comb += [
            scoreboard.active.eq(self.active),
            scoreboard.exhausted.eq(credits.exhausted),
            credits.released.eq(self.released),
            credits.issued.eq(selection.issued_ports),
            self.take.eq(selection.take),
            self.take_slot_1.eq(selection.take_slot_1),
            self.drained.eq(scoreboard.drained),
            self.reason.eq(scoreboard.reason),
            self.slots.eq(selection.slots),
        ]
        if self.config.atomics:
            m.d.comb += self.acquired.eq(scoreboard.acquired)
        self.hold(m, selection)
        return m

    def hold(self, m: Module, selection: InstructionSelection):
        """Offer issued instructions to the collectors, the older first."""
        slots = []
        for number, entry in enumerate(selection.entry):
            m.submodules[f"slot_{number}"] = slot = IssueSlot(self.config)
            connect(m, entry, slot.entry)
            m.d.comb += slot.written.eq(self.results.written)
            slots.append(slot)
        connect(m, slots[0].o, flipped(self.o[0]))
        if self.config.issue_width > 1:
            younger, offered, is_first = slots[1].o, self.o[1], slots[0].entry.free
            m.d.comb += [
                offered.payload.eq(younger.payload),
                offered.valid.eq(younger.valid & is_first),
                younger.ready.eq(offered.ready & is_first),
            ]
