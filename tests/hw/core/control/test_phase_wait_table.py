"""Tests of the phase wait table: no end of a phase is missed, and no warp wakes early."""

import random

import pytest

from spica.hw.core.control.phase_wait_table import PhaseWaitConfig, PhaseWaitTable
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.measure import measure

PLACES = 3


class Unit:
    """Barriers that change at most one phase or answer one test in a cycle, reported in the next.

    `waits` has the phase of each waiting warp, whether it was answered, and whether it has ended.
    """

    def __init__(self, config, rng):
        self.config, self.rng = config, rng
        self.parities = [0] * PLACES
        self.tests, self.waits = [], {}
        self.answer, self.end = None, None
        self.released, self.at_answer = 0, 0

    def update(self):
        """Execute a test or end a phase; set what is reported in the next cycle."""
        self.answer, self.end = None, None
        if self.tests and self.rng.random() < 0.4:
            warp = self.tests.pop(self.rng.randrange(len(self.tests)))
            place, parity = self.waits[warp][0]
            self.answer = (warp, int(self.parities[place] != parity))
        elif self.rng.random() < 0.5:
            place = self.rng.randrange(PLACES)
            self.end = (place, self.parities[place])
            self.parities[place] ^= 1

    def report(self):
        """Note what is reported in this cycle; return the warps that must be released."""
        answered = self.answer and self.answer[0]
        for warp, wait in self.waits.items():
            wait[1] |= warp == answered
            wait[2] |= wait[0] == self.end or (warp == answered and bool(self.answer[1]))
        released = [warp for warp, wait in self.waits.items() if wait[1] and wait[2]]
        for warp in released:
            self.at_answer += warp == answered
            del self.waits[warp]
        self.released += len(released)
        # Those that sleep on after their answer wait for phases that are current.
        for (place, parity), is_answered, _ in self.waits.values():
            assert not is_answered or self.parities[place] == parity
        return sum(1 << warp for warp in released)

    def arrival(self):
        """Return a warp that begins to wait and its phase, or None."""
        free = [warp for warp in range(self.config.warps) if warp not in self.waits]
        if not free or self.rng.random() < 0.5:
            return None
        warp, phase = self.rng.choice(free), (self.rng.randrange(PLACES), self.rng.randrange(2))
        return warp, phase


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("warps", [1, 4])
def test_warps_continue_when_their_phase_has_ended(warps, seed):
    config = PhaseWaitConfig(warps=warps, place_width=2)
    dut = require_no_loop(PhaseWaitTable(config))
    unit = Unit(config, random.Random(seed))

    async def run(ctx):
        waits = dut.waits
        for _ in range(2000):
            answer, end = unit.answer, unit.end
            ctx.set(waits.answers, 0 if answer is None else 1 << answer[0])
            ctx.set(waits.holds, 0 if answer is None else answer[1])
            ctx.set(waits.completed_valid, end is not None)
            place, parity = end or (unit.rng.randrange(4), unit.rng.randrange(2))
            ctx.set(waits.completed, {"place": place, "parity": parity})
            waiting = sum(1 << warp for warp in unit.waits)
            assert ctx.get(dut.waiting) == waiting
            assert ctx.get(dut.released) == unit.report()
            arrival = unit.arrival()
            arrival = None if arrival is None or waiting >> arrival[0] & 1 else arrival
            ctx.set(waits.arrivals, 0 if arrival is None else 1 << arrival[0])
            if arrival is not None:
                warp, (place, parity) = arrival
                ctx.set(waits.arrival, {"place": place, "parity": parity})
            unit.update()
            if arrival is not None:  # its test comes after this cycle's update
                unit.waits[warp] = [(place, parity), False, False]
                unit.tests.append(warp)
            await ctx.tick()

    simulate(dut, run)
    assert unit.released > 100
    assert 30 < unit.at_answer < unit.released


def test_a_clear_ends_all_waits():
    dut = require_no_loop(PhaseWaitTable(PhaseWaitConfig(warps=4, place_width=2)))

    async def run(ctx):
        for warp in range(3):
            ctx.set(dut.waits.arrivals, 1 << warp)
            await ctx.tick()
        ctx.set(dut.waits.arrivals, 0)
        assert ctx.get(dut.waiting) == 0b111
        ctx.set(dut.waits.clear, 1)
        await ctx.tick()
        assert ctx.get(dut.waiting) == 0

    simulate(dut, run)


def test_cells_and_depth():
    measured = measure(PhaseWaitTable(PhaseWaitConfig()), "phase_wait_table")
    assert measured.cells <= 40
    assert measured.nand2 <= 1800
    assert measured.depth <= 12
