"""Tests of the wait table: every wake-up in its cycle, none lost, none early; refused addresses."""

import itertools
import random

import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.core.control.wait_table import WaitTable
from spica.hw.core.control.warp_control import WarpControl
from spica.hw.emit.emitter import emit
from spica.hw.isa.memory_map import ENTRY, SHARED_BASE
from spica.hw.isa.operations import ControlOperation as Operation
from spica.hw.isa.progress import PROGRESS_WIDTH
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import put, require_no_loop, simulate
from spica.sim.golden.core.control.barrier import RefusedError
from spica.sim.golden.core.control.wait_table import WaitModel, condition_holds
from support.core.control_model import Instruction
from support.verilog.lint import lint

CONFIGS = {
    name: CoreBlockConfig.of(PRESETS[name]) for name in ("core", "tiny", "virgo", "virgo_hetero")
}
LARGEST = (1 << PROGRESS_WIDTH) - 1
EXTREMES = (0, 1, 255, LARGEST // 2, LARGEST // 2 + 1, LARGEST, LARGEST + 1, 0xFFFF_FFFF)


class Driver:
    """A table beside its model: random values of the units, arrivals, and stalls of both."""

    def __init__(self, config: CoreBlockConfig, seed: int):
        self.rng = random.Random(seed)
        self.config = config
        self.dut = require_no_loop(WaitTable(config), ports=[])
        self.model = WaitModel(config)
        self.values = [self.rng.choice((0, LARGEST - 2)) for _ in config.progress]
        self.outcomes = {"refused": 0, "released": 0, "at_once": 0, "behind": 0, "cleared": 0}

    def advance(self):
        """Let some units make progress: counters count, the others go up and down."""
        for number, register in enumerate(self.config.progress):
            if self.rng.random() < 0.5:
                continue
            value = self.values[number] & LARGEST
            step = 1 if register.is_counter else self.rng.choice((-1, 1))
            self.values[number] = (value + step) & LARGEST
            if not register.is_counter:
                self.values[number] = min(max(value % 256 + step, 0), 255)

    def arrival(self) -> tuple[int, int]:
        """Return an address and a number near the value of its register, or extremes."""
        register = self.rng.choice(self.config.progress)
        number = self.config.progress.index(register)
        near = self.values[number] + self.rng.randrange(-3, 4)
        n = self.rng.choice((near % 2**32, self.rng.choice(EXTREMES)))
        if self.rng.random() < 0.1:
            wrong = (register.address + self.rng.choice((1, 2, 4, 256)), 0, 0xFFFF_FFFF)
            return self.rng.choice(wrong), n
        return register.address, n

    async def run(self, ctx, cycles: int):
        dut, rng = self.dut, self.rng
        for _ in range(cycles):
            self.advance()
            behind, clears = rng.random() < 0.2, rng.random() < 0.02
            before = len(self.model.waiting)
            released = self.model.release(self.values, is_behind=behind)
            self.outcomes["behind"] += behind and before > 0
            self.outcomes["released"] += released.bit_count()
            free = [w for w in range(dut.warps) if w not in self.model.waiting]
            free = [w for w in free if not released >> w & 1]
            arrives = bool(free) and not clears and rng.random() < 0.6
            warp, (address, n) = rng.choice(free) if free else 0, self.arrival()
            ctx.set(dut.progress.values, [value & LARGEST for value in self.values])
            ctx.set(dut.progress.is_behind, behind)
            ctx.set(dut.arrival.warps, arrives << warp)
            ctx.set(dut.arrival.address, address)
            ctx.set(dut.arrival.n, n)
            ctx.set(dut.arrival.clear, clears)
            assert ctx.get(dut.released) == released
            if arrives:
                self.arrive(ctx, warp, address, n)
            if clears:
                self.outcomes["cleared"] += bool(self.model.waiting)
                self.model.clear()
            await ctx.tick()
            assert ctx.get(dut.waiting) == sum(1 << warp for warp in self.model.waiting)

    def arrive(self, ctx, warp: int, address: int, n: int):
        refused = False
        try:
            self.model.arrive(warp, address, n)
        except RefusedError as error:
            refused = True
            assert error.cause is FaultCause.NO_PROGRESS
        self.outcomes["refused"] += refused
        assert ctx.get(self.dut.arrival.refused) == refused


@pytest.mark.parametrize("name", CONFIGS)
def test_random_waits(name):
    driver = Driver(CONFIGS[name], seed=len(name))
    simulate(driver.dut, lambda ctx: driver.run(ctx, 1500))
    assert all(driver.outcomes[what] for what in ("refused", "released", "behind", "cleared"))


def test_every_value_and_number_of_a_few_bits():
    """All pairs around the limits of both conditions, each for one cycle only."""
    config = CONFIGS["core"]
    dut = require_no_loop(WaitTable(config), ports=[])
    half = LARGEST // 2
    points = [*range(4), *range(half - 2, half + 3), *range(LARGEST - 2, LARGEST + 1)]

    async def bench(ctx):
        for register, n, value in itertools.product(config.progress[:2], points, points):
            is_counter = register.is_counter
            if value > half and not is_counter:
                continue  # units have fewer commands
            held = condition_holds(value, n, is_counter=is_counter)
            fails = (v for v in points if not condition_holds(v, n, is_counter=is_counter))
            other = next((v for v in fails if is_counter or v <= half), None)
            if other is None:
                continue  # always holds
            ctx.set(dut.arrival.warps, 1)
            ctx.set(dut.arrival.address, register.address)
            ctx.set(dut.arrival.n, n)
            ctx.set(dut.progress.values, [other] * len(config.progress))
            await ctx.tick()
            ctx.set(dut.arrival.warps, 0)
            assert not ctx.get(dut.released)
            ctx.set(dut.progress.values, [value] * len(config.progress))
            assert ctx.get(dut.released) == held, (register, n, value)
            await ctx.tick()
            assert ctx.get(dut.waiting) == (not held)
            ctx.set(dut.arrival.clear, 1)
            await ctx.tick()
            ctx.set(dut.arrival.clear, 0)

    simulate(dut, bench)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_latency(after):
    """Accepted in cycle 0, waits from cycle 2 on; resumes the cycle after the value changes."""
    config = CONFIGS["tiny"]
    dut = require_no_loop(WarpControl(config), ports=[])
    loads = next(k for k, register in enumerate(config.progress) if register.is_counter)
    rows = tuple((x,) * 4 for x in (config.progress[loads].address, 7, 0))
    wait = Instruction(warp=0, mask=1, pc=ENTRY, operation=Operation.WAIT, rows=rows)
    changes = 2 + after
    seen = []

    async def feed(ctx):
        await put(ctx, dut.i, [wait.payload], rng=random.Random(1))

    async def record(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(12):
            ctx.set(dut.progress.values, [7 * (cycle >= changes)] * len(config.progress))
            sample = (dut.o.valid, dut.warps.at_barrier, dut.warps.resume, dut.redirect.valid)
            _, _, *values = await ctx.tick().sample(*sample)
            seen.append(tuple(values))

    simulate(dut, feed, record)
    assert [cycle for cycle, (done, *_) in enumerate(seen) if done] == [2]
    assert [cycle for cycle, (_, asleep, *_) in enumerate(seen) if asleep] == [
        *range(2, changes + 1)
    ]
    assert [cycle for cycle, (_, _, resume, _) in enumerate(seen) if resume] == [changes + 1]
    assert not any(turns for *_, turns in seen)


def test_a_refused_wait_is_a_fault_with_its_address():
    config = CONFIGS["tiny"]
    dut = require_no_loop(WarpControl(config), ports=[])
    rows = tuple((x,) * 4 for x in (SHARED_BASE, 7, 0))
    wait = Instruction(warp=0, mask=1, pc=ENTRY, operation=Operation.WAIT, rows=rows)
    seen = []

    async def feed(ctx):
        await put(ctx, dut.i, [wait.payload], rng=random.Random(1))

    async def record(ctx):
        ctx.set(dut.o.ready, 1)
        for _ in range(8):
            sample = (dut.fault.valid, dut.fault.payload, dut.warps.resume, dut.warps.at_barrier)
            _, _, *values = await ctx.tick().sample(*sample)
            seen.append(tuple(values))

    simulate(dut, feed, record)
    faults = [(fault.pc, fault.cause, fault.address) for valid, fault, *_ in seen if valid]
    assert faults == [(ENTRY, FaultCause.NO_PROGRESS, SHARED_BASE)]
    assert not any(resume or asleep for *_, resume, asleep in seen)


def test_verilog():
    assert lint(emit(WaitTable(CONFIGS["virgo"]), "wait_table")) == []
