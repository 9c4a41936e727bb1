"""Proofs of the phase wait table: no end of a phase is missed, and no warp wakes early."""

from amaranth import *

from spica.hw.core.control.phase_wait_table import (
    PhaseWaitConfig,
    PhaseWaitTable,
    phase_layout,
)

from .proof import Proof
from .properties import Assert, Assume, Properties

__all__ = ["PROOFS"]

PLACE_WIDTH = 2


class Phases(Properties):
    """One arbitrary warp and one arbitrary barrier, with a unit that tests and ends its phases.

    The unit updates the barrier at most once per cycle: it ends the current phase, or executes the
    test of the warp. The answer and the end come in the next cycle. Assumptions: one warp arrives
    at a time and none that waits; ends of other barriers have any place and parity; other warps are
    answered at any time; the table is not cleared while a test is outstanding.
    """

    def __init__(self, warps: int):
        self.config = PhaseWaitConfig(warps=warps, place_width=PLACE_WIDTH)
        width = phase_layout(self.config).size
        super().__init__(
            free={
                **{"arrivals": warps, "arrival_place": PLACE_WIDTH, "arrival_parity": 1},
                **{"ends": 1, "tests": 1, "clear": 1, "others": warps, "other_holds": 1},
                **{"other_ends": 1, "other_place": PLACE_WIDTH, "other_parity": 1},
            },
            fixed={"who": range(warps), "place": PLACE_WIDTH},
            inside={
                **{f"entry_{warp}": (f"waits.entry_{warp}", width) for warp in range(warps)},
                "answered": ("waits.answered", warps),
                "ended": ("waits.ended", warps),
            },
        )

    def state(self, m):
        m.submodules.waits = self.dut = dut = PhaseWaitTable(self.config)
        waits, own = dut.waits, Signal(len(self.arrivals))
        # The unit: parity of the barrier, and what it reports in the next cycle.
        parity, tested, held, ended, ended_parity = (
            Signal(name=name) for name in ("parity", "tested", "held", "ended", "ended_parity")
        )
        self.asleep, self.outstanding = asleep, outstanding = Signal(), Signal()
        self.awaited, self.over = awaited, over = Signal(), Signal()
        self.tested, self.held, self.ended_now, self.parity = tested, held, ended, parity
        self.ended_parity = ended_parity
        arrives, is_here = (self.arrivals & own).any(), Signal()
        self.is_here = is_here  # the warp waits for the tracked barrier
        tests = self.tests & outstanding
        m.d.comb += [
            own.eq(1 << self.who),
            waits.arrivals.eq(self.arrivals),
            waits.arrival.place.eq(self.arrival_place),
            waits.arrival.parity.eq(self.arrival_parity),
            waits.clear.eq(self.clear),
            waits.answers.eq(Mux(tested, own, self.others & ~own)),
            waits.holds.eq(Mux(tested, held, self.other_holds)),
            waits.completed_valid.eq(ended | self.other_ends),
            waits.completed.place.eq(Mux(ended, self.place, self.other_place)),
            waits.completed.parity.eq(Mux(ended, ended_parity, self.other_parity)),
            Assume((self.arrivals & (self.arrivals - 1)) == 0),
            Assume((self.others & (self.others - 1)) == 0),
            Assume(~(arrives & (asleep | outstanding | tested))),
            Assume(~(self.clear & (self.arrivals.any() | outstanding | tested))),
            Assume(~(self.ends & tests)),
            Assume(ended | (self.other_place != self.place) | ~self.other_ends),
            Assume(~arrives | (self.arrival_place == self.place)),
        ]
        m.d.sync += [
            tested.eq(tests),
            held.eq(parity != awaited),
            ended.eq(self.ends),
            ended_parity.eq(parity),
            parity.eq(parity ^ self.ends),
            outstanding.eq((outstanding & ~tests) | arrives),
        ]
        # The phase has completed, as far as the reports of the unit tell.
        is_over = over | (ended & (ended_parity == awaited)) | (tested & held)
        released = (dut.released & own).any()
        with m.If(arrives):
            m.d.sync += awaited.eq(self.arrival_parity)
        m.d.sync += [
            asleep.eq(~self.clear & ((asleep & ~released) | arrives)),
            over.eq(is_over & ~arrives),
        ]
        # Reports of the unit up to this cycle say that the current phase has this parity.
        reported = parity
        is_answered = ~outstanding
        m.d.comb += [
            Assert((dut.waiting & own).any() == asleep),
            Assert(released == (asleep & is_answered & is_over)),
            # A warp that sleeps on after its answer waits for the phase that is current.
            Assert(~(asleep & is_answered & ~released) | (reported == awaited)),
        ]

    def relate(self, m):
        entries = Array(getattr(self, f"entry_{warp}") for warp in range(len(self.arrivals)))
        entry = Signal(phase_layout(self.config))
        answered = self.answered.bit_select(self.who, 1)
        m.d.comb += [
            Value.cast(entry).eq(entries[self.who]),
            Assert(~self.asleep | (entry.place == self.place)),
            Assert(~self.asleep | (entry.parity == self.awaited)),
            Assert(~self.asleep | (answered == ~(self.outstanding | self.tested))),
            Assert(~self.asleep | (self.ended.bit_select(self.who, 1) == self.over)),
            Assert(~(self.outstanding & self.tested)),
            Assert(~(self.outstanding | self.tested) | self.asleep),
            Assert(~(self.tested & self.held) | ~self.ended_now),
            Assert(~self.tested | ~self.ended_now),
            Assert(~self.tested | (self.held == (self.parity != self.awaited))),
            Assert(~self.ended_now | (self.ended_parity != self.parity)),
            Assert(~(self.asleep & answered & ~self.over & ~self.ended_now)
                   | (self.parity == self.awaited)),
        ]  # fmt: skip


PROOFS = (
    Proof(
        name="phase_wait_table",
        says="a warp that waits for a phase continues in the first cycle in which its test is "
        "answered and the phase has completed, and not before; while it sleeps after that answer "
        "the phase is the current one of the barrier, so no end of it was missed",
        size="3 warps, 4 barriers",
        kind=Phases,
        arguments=(3,),
    ),
)
