"""Proofs of a warp's scoreboard: a register is claimed exactly until its results are written."""

from amaranth import *
from amaranth.lib import data

from spica.hw.config import CoreConfig
from spica.hw.core.issue.warp_scoreboard import UNDER_WAY, WarpScoreboard, needs_layout, releases
from spica.hw.lib.interfaces.execution_unit import OPERANDS, REGISTERS

from .proof import Proof
from .properties import Assert, Assume, Properties, ones
from .registers import Names, Results

__all__ = ["PROOFS"]


class RegisterOfWarp(Properties):
    """One arbitrary register: claimed by writers, free exactly when all results are written.

    Assumptions: instructions are issued as the scoreboard allows. A result is written in a cycle of
    its own, after its instruction was issued. Announcements may come at any time.
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        width, buses = config.issue_width, config.writeback_buses
        announcements = {
            "release": releases(config),
            "released": data.ArrayLayout(REGISTERS, releases(config)),
        }
        tables = ("pending", "twice", "blocked") if config.snoop else ("pending",)
        super().__init__(
            free={
                "needs": data.ArrayLayout(needs_layout(config), width),
                "issued": range(width + 1),
                "loaded": REGISTERS,
                **(announcements if config.snoop else {}),
                "done": buses,
                "written": data.ArrayLayout(REGISTERS, buses),
            },
            fixed={"register": range(REGISTERS)},
            inside={
                **{f"is_{name}": (f"board.{name}", REGISTERS) for name in tables},
                "counted": ("board.under_way", range(2 * UNDER_WAY)),
            },
        )

    def state(self, m):
        config, register = self.config, self.register
        m.submodules.board = self.board = board = WarpScoreboard(config)
        m.d.comb += board.needs.eq(self.needs)
        for name in ("issued", "loaded", "release", "released", "done", "written"):
            if hasattr(self, name):
                m.d.comb += getattr(board.events, name).eq(getattr(self, name))
        slots = range(config.issue_width)
        is_issued = [self.issued > slot for slot in slots]
        claimed = [
            (is_issued[slot] & self.needs[slot].writes) << self.needs[slot].rd for slot in slots
        ]
        m.d.comb += board.events.claimed.eq(claimed[0] | claimed[-1])
        claims = [mask.bit_select(register, 1) for mask in claimed]
        writes = [
            self.done[bus] & self.written[bus].bit_select(register, 1)
            for bus in range(config.writeback_buses)
        ]
        announced = Cat(
            board.events.release[number] & board.events.released[number].bit_select(register, 1)
            for number in range(releases(config))
        ).any()
        self.results = results = Results(m, 1 + config.snoop, claims, writes)
        self.far = far = Signal()  # the last result has not been announced
        with m.If(results.claimed):
            m.d.sync += far.eq(1)
        with m.Elif((results.count == results.written) | (announced & (results.count != 2))):
            m.d.sync += far.eq(0)
        m.d.comb += [
            *(Assume(~is_issued[slot] | ~board.hazards.hazard[slot]) for slot in slots),
            Assume((self.issued <= len(slots)) & ((self.issued == 0) | ~board.hazards.crowded)),
        ]
        self.check_warp(m, board, results)
        self.count(m, board)

    def check_warp(self, m: Module, board, results: Results):
        """Assert the exact hold-back of an instruction that uses no other register."""
        names = Names(self.needs[0], self.register)
        far = self.far if self.config.snoop else results.count != 0
        held = (names.reads & far) | (
            names.writes & (results.count != 0) & ~(names.reads if self.config.snoop else 0)
        )
        m.d.comb += [
            Assert(~names.alone | (board.hazards.hazard[0] == held)),
            Assert(~held | board.hazards.hazard[0]),
        ]
        if self.config.snoop:
            for k in range(OPERANDS):
                with m.If(self.needs[0].sources[k] == self.register):
                    expected = self.needs[0].reads[k] & (results.count != 0)
                    m.d.comb += Assert(board.hazards.pending[0].bit_select(k, 1) == expected)

    def count(self, m: Module, board):
        """Count instructions in flight: none completes without issue."""
        self.under_way = under_way = Signal(8)
        done = Signal(range(self.config.writeback_buses + 1))
        m.d.comb += [
            done.eq(ones(self.done)),
            Assume(done <= under_way),
            Assert(board.hazards.drained == (under_way == 0)),
            Assert(board.hazards.crowded == (under_way >= UNDER_WAY)),
            Assert(under_way <= UNDER_WAY + 1),
        ]
        m.d.sync += under_way.eq(under_way + self.issued - done)

    def relate(self, m):
        bit = {
            name: getattr(self, name).bit_select(self.register, 1)
            for name in self.inside
            if name != "counted"
        }
        count = self.results.count
        m.d.comb += [
            Assert(self.counted == self.under_way),
            Assert(bit["is_pending"] == (count != 0)),
        ]
        if self.config.snoop:
            m.d.comb += [
                Assert(bit["is_twice"] == (count == 2)),
                Assert(bit["is_blocked"] == self.far),
                Assert(~bit["is_twice"] | bit["is_blocked"]),
                Assert(~bit["is_blocked"] | bit["is_pending"]),
            ]


PROOFS = (
    Proof(
        name="warp_scoreboard",
        says="a register is claimed exactly until its results are written, two at most",
        size="64 registers, issue of 2, 2 buses, snooping",
        kind=RegisterOfWarp,
        arguments=(CoreConfig(issue_width=2),),
    ),
    Proof(
        name="warp_scoreboard_no_snoop",
        says="a register is claimed exactly until its result is written",
        size="64 registers, issue of 1, 1 bus",
        kind=RegisterOfWarp,
        arguments=(CoreConfig(snoop=False, writeback_buses=1),),
    ),
)
