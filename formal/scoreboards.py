"""Proofs of the scoreboard of a core: warps do not affect each other."""

from amaranth import *
from amaranth.lib import data

from spica.hw.config import CoreConfig
from spica.hw.core.front_end_layouts import head_layout
from spica.hw.core.issue.scoreboard import Scoreboard
from spica.hw.core.issue.scoreboard_events import done_layout, register_event_layout
from spica.hw.core.issue.stall_reason import waits_layout
from spica.hw.core.issue.warp_scoreboard import FIXED_PORTS, UNDER_WAY, VARIABLE_PORTS
from spica.hw.isa.operations import Port
from spica.hw.lib.interfaces.execution_unit import REGISTERS

from .proof import Proof
from .properties import Assert, Assume, Properties, ones
from .registers import Names, Results

__all__ = ["PROOFS"]


class RegisterOfCore(Properties):
    """One arbitrary register of one arbitrary warp, in a core that issues ready instructions.

    Assumption: a result is written in a cycle of its own, after its instruction was issued.
    Dispatch events and announcements are unconstrained.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        warps = config.warps
        event = register_event_layout(config)
        entries = [f"{kind}_{warp}" for kind in ("head", "second") for warp in range(warps)]
        boards = {
            f"{name}_{warp}": (f"scoreboard.warp_{warp}.{name}", REGISTERS)
            for name in ("pending", "twice", "blocked")
            for warp in range(warps)
        }
        super().__init__(
            free={name: head_layout(config) for name in entries}
            | dict.fromkeys(("active", "at_barrier", "started", "resume"), warps)
            | {
                "dispatched": data.ArrayLayout(event, len(FIXED_PORTS)),
                "arriving": data.ArrayLayout(event, len(VARIABLE_PORTS)),
                "written": data.ArrayLayout(done_layout(config), config.writeback_buses),
                "goes": config.issue_width,
                "chosen": range(warps),
            },
            fixed={"warp": range(warps), "register": range(REGISTERS)},
            inside={
                **boards,
                **{
                    f"under_way_{warp}": (f"scoreboard.warp_{warp}.under_way", 7)
                    for warp in range(warps)
                },
                "kept_stopped": ("scoreboard.readiness.stopped", warps),
            },
        )

    def entry(self, kind: str, warp: int):
        """Return the input for the next instruction of a warp, or the one after it."""
        return getattr(self, f"{kind}_{warp}")

    def state(self, m):
        config, warps = self.config, range(self.config.warps)
        m.submodules.scoreboard = dut = Scoreboard(config)
        events = ("dispatched", "arriving", "written")
        m.d.comb += dut.active.eq(self.active)
        m.d.comb += [getattr(dut.results, name).eq(getattr(self, name)) for name in events]
        states = ("at_barrier", "started", "resume")
        m.d.comb += [getattr(dut.warps, name).eq(getattr(self, name)) for name in states]
        for warp in warps:
            m.d.comb += [
                dut.heads[0][warp].eq(self.entry("head", warp)),
                dut.heads[1][warp].eq(self.entry("second", warp)),
            ]
        self.issue(m, dut)
        claims = [
            slot.valid & slot.writes & (slot.rd == self.register) & (self.chosen == self.warp)
            for slot in (dut.claims.slots[0], dut.claims.slots[1])
        ]
        events = [self.written[bus] for bus in range(config.writeback_buses)]
        here = [event.valid & (event.warp == self.warp) for event in events]
        writes = [
            is_here & event.writes & (event.rd == self.register)
            for is_here, event in zip(here, events, strict=True)
        ]
        self.results = Results(m, 2, claims, writes)
        self.follow(m, dut, events)
        for warp in warps:
            with m.If(self.warp == warp):
                self.check_warp(m, dut, warp)

    def issue(self, m: Module, dut):
        """Issue the next instruction of a ready warp, and optionally the one after it."""
        first, second = dut.claims.slots[0], dut.claims.slots[1]
        ready = dut.readiness.ready.bit_select(self.chosen, 1)
        m.d.comb += [
            first.valid.eq(self.goes[0] & ready),
            second.valid.eq(
                first.valid & self.goes[1] & dut.readiness.ready_slot_1.bit_select(self.chosen, 1)
            ),
            dut.claims.grant.eq(first.valid << self.chosen),
        ]
        for kind, claim in (("head", first), ("second", second)):
            for warp in range(self.config.warps):
                instruction = self.entry(kind, warp).instruction
                with m.If(self.chosen == warp):
                    m.d.comb += [
                        claim.rd.eq(instruction.rd),
                        claim.writes.eq(instruction.writes),
                        claim.loads.eq(instruction.port == Port.MEMORY),
                        claim.stalls_warp.eq(instruction.stalls_warp),
                    ]

    def follow(self, m: Module, dut, events):
        """Count the instructions in flight of each warp, and track stopped warps."""
        self.under_way, self.stopped = [], Signal(self.config.warps)
        issued = [dut.claims.slots[slot].valid for slot in range(2)]
        stalls_warp = Cat(
            dut.claims.slots[slot].valid & dut.claims.slots[slot].stalls_warp for slot in range(2)
        ).any()
        for warp in range(self.config.warps):
            count, done = Signal(8, name=f"count_{warp}"), Signal(3, name=f"done_{warp}")
            granted = dut.claims.grant[warp]
            m.d.comb += [
                done.eq(ones(event.valid & (event.warp == warp) for event in events)),
                Assume(done <= count),
                Assert(count <= UNDER_WAY + 1),
                Assert(dut.drained[warp] == (count == 0)),
            ]
            m.d.sync += count.eq(count + Mux(granted, ones(issued), 0) - done)
            with m.If(granted & stalls_warp):
                m.d.sync += self.stopped[warp].eq(1)
            with m.Elif(self.resume[warp] | self.started[warp]):
                m.d.sync += self.stopped[warp].eq(0)
            self.under_way.append(count)

    def check_warp(self, m: Module, dut, warp: int):
        """Assert that a warp is ready unless it is held back, and then has exactly one reason."""
        head, after = self.entry("head", warp), self.entry("second", warp)
        count, under_way = self.results.count, self.under_way[warp]
        names = [Names(entry.instruction, self.register) for entry in (head, after)]
        held = [
            (registers.writes & ~registers.reads & (count != 0)) | (registers.reads & (count == 2))
            for registers in names
        ]
        runs = self.active[warp] & ~self.stopped[warp] & head.valid
        serialises = head.instruction.serialises
        idle = (~serialises | (under_way == 0)) & (under_way < UNDER_WAY)
        reasons = [
            getattr(dut.readiness.waits, name)[warp] for name in waits_layout(self.config).members
        ]
        m.d.comb += [
            Assert(~dut.readiness.ready[warp] | (runs & idle & ~held[0])),
            Assert(dut.readiness.ready[warp] | ~(runs & idle & names[0].alone & (count == 0))),
            Assert(ones([dut.readiness.ready[warp], *reasons]) == 1),
            Assert(~dut.readiness.ready_slot_1[warp] | (after.valid & ~held[1])),
            Assert(
                ~dut.readiness.ready_slot_1[warp]
                | ~(head.instruction.stalls_warp | after.instruction.serialises)
            ),
        ]

    def relate(self, m):
        count = self.results.count
        m.d.comb += Assert(self.kept_stopped == self.stopped)
        for warp in range(self.config.warps):
            pending, twice, blocked = (
                getattr(self, f"{name}_{warp}").bit_select(self.register, 1)
                for name in ("pending", "twice", "blocked")
            )
            m.d.comb += Assert(getattr(self, f"under_way_{warp}") == self.under_way[warp])
            with m.If(self.warp == warp):
                m.d.comb += [
                    Assert(pending == (count != 0)),
                    Assert(twice == (count == 2)),
                    Assert(~twice | blocked),
                    Assert(~blocked | pending),
                ]


PROOFS = (
    Proof(
        name="scoreboard",
        says="a register is claimed until its own results are written; a warp is ready, or held "
        "back for exactly one reason",
        size="2 warps of 64 registers, issue of 2, 2 buses",
        kind=RegisterOfCore,
        arguments=(CoreConfig(warps=2, issue_width=2),),
    ),
)
