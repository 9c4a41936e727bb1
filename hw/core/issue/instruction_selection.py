"""Instruction selection: issues the next one or two instructions of the granted warp."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...isa.operations import Port
from ...lib.interfaces.execution_unit import OPERANDS
from ...lib.one_hot import number_of, select
from ..front_end_layouts import head_layout
from ..layouts import acquire_field, group_fields
from ..warp_state import WarpStateSignature
from .issue_slot import EntrySignature
from .scheduling import SchedulingSignature
from .scoreboard_events import ClaimSignature
from .stall_reason import StallReason, nearest_reason
from .warp_readiness import ReadinessSignature

__all__ = ["InstructionSelection"]


class InstructionSelection(Component):
    """Instruction selection: issues from the granted warp if the issue slots are free.

    Combinational, except for `slots`.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    heads : In(head_layout(config)).array(issue_width, warps)
    warps : In(WarpStateSignature(config))
    readiness : In(ReadinessSignature(config))
    scheduling : Out(SchedulingSignature(config.warps))
    claims : Out(ClaimSignature(config))
        Issued instructions, for the scoreboard.
    entry : Out(EntrySignature(config)).array(issue_width)
        Issued instructions, for the issue slots.
    issued_ports : Out(len(config.credit_ports))
        Ports with credits that an instruction is issued to.
    take : Out(warps), take_slot_1 : Out(1)
        One-hot warp whose head leaves its buffer; the instruction after it leaves as well.
    slots : Out(ArrayLayout(StallReason, issue_width))
        Outcome of each issue slot in the last cycle: NONE if issued, else the stall reason.
    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        warps, width = config.warps, config.issue_width
        super().__init__({
            "heads": In(head_layout(config)).array(width, warps),
            "warps": In(WarpStateSignature(config)),
            "readiness": In(ReadinessSignature(config)),
            "scheduling": Out(SchedulingSignature(config.warps)),
            "claims": Out(ClaimSignature(config)),
            "entry": Out(EntrySignature(config)).array(width),
            "issued_ports": Out(len(config.credit_ports)),
            "take": Out(warps),
            "take_slot_1": Out(1),
            "slots": Out(data.ArrayLayout(StallReason, width)),
        })

    def elaborate(self, platform):
        m = Module()
        readiness, grant = self.readiness, self.scheduling.grant
        waits = readiness.waits
        room = Signal()
        issued = Signal(self.config.issue_width)
        m.d.comb += [
            self.scheduling.ready.eq(readiness.ready),
            self.scheduling.started.eq(self.warps.started),
            self.scheduling.long_wait.eq(waits.memory | waits.barrier | waits.idle),
            self.scheduling.accept.eq(issued[0]),
            room.eq(Cat(entry.free for entry in self.entry).all()),
            issued[0].eq(room & grant.any()),
            self.take.eq(grant & issued[0].replicate(self.config.warps)),
        ]
        if self.config.issue_width > 1:
            follows = (grant & readiness.ready_slot_1).any()
            m.d.comb += [issued[1].eq(issued[0] & follows), self.take_slot_1.eq(issued[1])]
        self.enter(m, issued)
        self.claim(m, issued)
        self.account(m, issued, room)
        return m

    def enter(self, m: Module, issued: Value):
        """Offer the next instructions of the granted warp to the issue slots."""
        grant, width = self.scheduling.grant, self.config.issue_width
        layout = data.StructLayout({
            "instructions": data.ArrayLayout(head_layout(self.config), width),
            "pending": data.ArrayLayout(OPERANDS, width),
            "mask": self.config.threads,
        })
        chosen = Signal(layout)
        candidates = [
            Cat(
                *(heads[warp] for heads in self.heads),
                self.readiness.pending[warp],
                self.warps.masks[warp],
            )
            for warp in range(self.config.warps)
        ]
        m.d.comb += Value.cast(chosen).eq(select(grant, candidates))
        for slot, entry in enumerate(self.entry):
            m.d.comb += [
                entry.enter.eq(issued[slot]),
                entry.issue.warp.eq(number_of(grant)),
                entry.issue.mask.eq(chosen.mask),
                entry.issue.instruction.eq(chosen.instructions[slot].instruction),
                entry.issue.pending.eq(chosen.pending[slot]),
            ]

    def claim(self, m: Module, issued: Value):
        """Claim the destinations and credits of issued instructions."""
        m.d.comb += self.claims.grant.eq(self.scheduling.grant)
        instructions = [entry.issue.instruction for entry in self.entry]
        for slot, instruction in enumerate(instructions):
            claim = self.claims.slots[slot]
            m.d.comb += [
                claim.valid.eq(issued[slot]),
                claim.rd.eq(instruction.rd),
                claim.writes.eq(instruction.writes),
                claim.loads.eq(instruction.port == Port.MEMORY),
                claim.stalls_warp.eq(instruction.stalls_warp),
                *(claim[name].eq(instruction[name]) for name in group_fields(self.config)),
                *(claim[name].eq(instruction[name]) for name in acquire_field(self.config)),
            ]
        for number, port in enumerate(self.config.credit_ports):
            is_issued = Cat(
                issued[slot] & (instruction.port == port)
                for slot, instruction in enumerate(instructions)
            )
            m.d.comb += self.issued_ports[number].eq(is_issued.any())

    def account(self, m: Module, issued: Value, room: Value):
        """Assign each issue slot to exactly one stall reason."""
        reason = Signal(StallReason)
        with m.If(issued[0]):
            m.d.comb += reason.eq(StallReason.NONE)
        with m.Elif(~self.readiness.ready.any()):
            m.d.comb += reason.eq(nearest_reason(self.readiness.waits))
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
            seconds = self.scheduling.grant & Cat(head.valid for head in self.heads[1])
            alone = Mux(seconds.any(), StallReason.DUAL_ISSUE, StallReason.NO_INSTRUCTION)
            issued_alone = issued[0] & ~issued[1]
            m.d.sync += charged[1].eq(Mux(issued_alone, alone, reason))
