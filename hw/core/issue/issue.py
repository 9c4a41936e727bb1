"""Issue stage: sends the next one or two instructions of one warp per cycle to collectors."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import PipelineConfig
from ...emit.shared_block import SharedBlock
from ...isa.operations import Port
from ...lib.interfaces.execution_unit import OPERANDS
from ...lib.one_hot import number_of, select
from ..front_end_layouts import head_layout
from ..layouts import group_fields, issue_layout
from ..warp_state import WarpStateSignature
from .issue_credits import IssueCredits
from .issue_slot import IssueSlot
from .scheduler import Scheduler
from .scoreboard import Scoreboard, done_layout, register_event_layout
from .stall_reason import StallReason, nearest_reason
from .warp_scoreboard import FIXED_PORTS, VARIABLE_PORTS

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
    dispatched, arriving, written : In
        Progress of results; see `Scoreboard`.
    drained : Out(warps)
        The warp has nothing in flight.
    reason : Out(ArrayLayout(StallReason, warps))
        Reason why each warp is not ready.
    slots : Out(ArrayLayout(StallReason, issue_width))
        Outcome of each issue slot in the last cycle: NONE if issued, else the stall reason.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps, width = config.warps, config.issue_width
        event = register_event_layout(config)
        ports: dict = {
            "heads": In(head_layout(config)).array(width, warps),
            "take": Out(warps),
            "take_slot_1": Out(1),
            "active": In(warps),
            "warps": In(WarpStateSignature(config)),
            "released": In(len(config.credit_ports)),
            "o": Out(stream.Signature(issue_layout(config))).array(width),
            "dispatched": In(data.ArrayLayout(event, len(FIXED_PORTS))),
            "arriving": In(data.ArrayLayout(event, len(VARIABLE_PORTS))),
            "written": In(data.ArrayLayout(done_layout(config), config.writeback_buses)),
            "drained": Out(warps),
            "reason": Out(data.ArrayLayout(StallReason, warps)),
            "slots": Out(data.ArrayLayout(StallReason, width)),
        }
        super().__init__(ports)

    def build(self, platform):
        m = Module()
        m.submodules.scoreboard = scoreboard = Scoreboard(self.config)
        m.submodules.scheduler = scheduler = Scheduler(self.config)
        connect(m, flipped(self.warps), scoreboard.warps)
        same = ["active", "dispatched", "arriving", "written"]
        m.d.comb += [getattr(scoreboard, name).eq(getattr(self, name)) for name in same]
        for sources, sinks in zip(self.heads, scoreboard.heads, strict=True):
            m.d.comb += [sink.eq(head) for sink, head in zip(sinks, sources, strict=True)]
        room = Signal()
        issued = Signal(self.config.issue_width)
        chosen = self.choose(m, scheduler, scoreboard)
        slots = self.hold(m, chosen, issued)
        m.d.comb += [
            room.eq(Cat(slot.free for slot in slots).all()),
            issued[0].eq(room & scheduler.grant.any()),
            scheduler.taken.eq(issued[0]),
            scoreboard.grant.eq(scheduler.grant),
            self.take.eq(scheduler.grant & issued[0].replicate(self.config.warps)),
            self.drained.eq(scoreboard.drained),
            self.reason.eq(scoreboard.reason),
        ]
        if self.config.issue_width > 1:
            follows = (scheduler.grant & scoreboard.ready_slot_1).any()
            m.d.comb += [issued[1].eq(issued[0] & follows), self.take_slot_1.eq(issued[1])]
        for number, entry in enumerate(chosen):
            claim = scoreboard.issue[number]
            instruction = entry.instruction
            m.d.comb += [
                claim.valid.eq(issued[number]),
                claim.rd.eq(instruction.rd),
                claim.writes.eq(instruction.writes),
                claim.loads.eq(instruction.port == Port.MEMORY),
                claim.stalls_warp.eq(instruction.stalls_warp),
                *(claim[name].eq(instruction[name]) for name in group_fields(self.config)),
            ]
        self.account(m, scheduler, scoreboard, issued, room)
        m.submodules.credits = credits = IssueCredits(self.config)
        m.d.comb += [
            credits.released.eq(self.released),
            scoreboard.exhausted.eq(credits.exhausted),
            *(
                credits.issued[number].eq(
                    Cat(
                        issued[slot] & (one.instruction.port == port)
                        for slot, one in enumerate(chosen)
                    ).any()
                )
                for number, port in enumerate(self.config.credit_ports)
            ),
        ]
        return m

    def choose(self, m: Module, scheduler, scoreboard) -> list:
        """Connect the scheduler; return the issue candidates of the granted warp."""
        waits = scoreboard.waits
        m.d.comb += [
            scheduler.ready.eq(scoreboard.ready),
            scheduler.started.eq(self.warps.started),
            scheduler.long_wait.eq(waits.memory | waits.barrier | waits.idle),
        ]
        width = self.config.issue_width
        layout = data.StructLayout({
            "instructions": data.ArrayLayout(head_layout(self.config), width),
            "pending": data.ArrayLayout(OPERANDS, width),
            "mask": self.config.threads,
        })
        entry = Signal(layout, name="entry")
        entries = [
            Cat(
                *(heads[warp] for heads in self.heads),
                scoreboard.pending[warp],
                self.warps.masks[warp],
            )
            for warp in range(self.config.warps)
        ]
        m.d.comb += Value.cast(entry).eq(select(scheduler.grant, entries))
        chosen = []
        for slot in range(width):
            issue = Signal(issue_layout(self.config), name=f"chosen_{slot}")
            m.d.comb += [
                issue.warp.eq(number_of(scheduler.grant)),
                issue.mask.eq(entry.mask),
                issue.instruction.eq(entry.instructions[slot].instruction),
                issue.pending.eq(entry.pending[slot]),
            ]
            chosen.append(issue)
        return chosen

    def hold(self, m: Module, chosen: list, issued: Value) -> list[IssueSlot]:
        """Offer issued instructions to the collectors, the older first; return the slots."""
        slots = []
        for number, issue in enumerate(chosen):
            m.submodules[f"slot_{number}"] = slot = IssueSlot(self.config)
            m.d.comb += [
                slot.issue.eq(issue),
                slot.enter.eq(issued[number]),
                slot.written.eq(self.written),
            ]
            slots.append(slot)
        connect(m, slots[0].o, flipped(self.o[0]))
        if self.config.issue_width > 1:
            younger, offered = slots[1].o, self.o[1]
            m.d.comb += [
                offered.payload.eq(younger.payload),
                offered.valid.eq(younger.valid & slots[0].free),
                younger.ready.eq(offered.ready & slots[0].free),
            ]
        return slots

    def account(self, m: Module, scheduler, scoreboard, issued: Value, room: Value):
        """Assign each issue slot to exactly one stall reason."""
        reason = Signal(StallReason)
        with m.If(issued[0]):
            m.d.comb += reason.eq(StallReason.NONE)
        with m.Elif(~scoreboard.ready.any()):
            m.d.comb += reason.eq(nearest_reason(scoreboard.waits))
        with m.Elif(room):
            m.d.comb += reason.eq(StallReason.INACTIVE_SET)
        with m.Else():
            m.d.comb += reason.eq(StallReason.COLLECTORS_FULL)
        charged = [
            Signal(StallReason, init=StallReason.IDLE, name=f"charged_{slot}")
            for slot in range(self.config.issue_width)
        ]
        m.d.comb += Value.cast(self.slots).eq(Cat(charged))
        m.d.sync += charged[0].eq(reason)
        if self.config.issue_width > 1:
            there = scheduler.grant & scoreboard.column(1, "valid")
            alone = Mux(there.any(), StallReason.DUAL_ISSUE, StallReason.NO_INSTRUCTION)
            issued_alone = issued[0] & ~issued[1]
            m.d.sync += charged[1].eq(Mux(issued_alone, alone, reason))
