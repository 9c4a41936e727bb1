"""Tests of the sleep counter: every cycle asleep is handed over once, while the core is clocked."""

import random

from spica.hw.cluster.sleep_counter import SleepCounter, SleepCounterConfig
from spica.hw.core.clock_control import SLEEP_WIDTH
from spica.hw.emit.emitter import emit
from spica.sim.engine.testbench import require_no_loop, simulate

MOST = (1 << SLEEP_WIDTH) - 1


class SleepModel:
    """Golden model of a core's part of `SleepCounter`, and of the clock that the core needs."""

    def __init__(self):
        self.history = [False] * 4
        self.asleep = self.handed = 0
        self.total = [0] * 4

    def step(self, asleep: bool):
        """End a cycle."""
        self.history.append(asleep)
        self.asleep += asleep
        self.total.append(self.asleep)

    @property
    def is_clocked(self) -> bool:
        """Whether the core is clocked in any case: it was awake in one of the last two cycles."""
        return not all(self.history[-2:])


def test_random_sleep():
    """Sleeps of any length: none lost, none counted twice, none handed over to a stopped core."""
    rng, cores = random.Random(1), 2
    dut = require_no_loop(SleepCounter(SleepCounterConfig(cores=cores, observed=True)), ports=[])
    models = [SleepModel() for _ in range(cores)]
    woken = 0

    async def bench(ctx):
        nonlocal woken
        left = [0] * cores  # cycles until a core changes between sleep and wake
        sleeps = [False] * cores
        handed = [[0, 0, 0] for _ in range(cores)]  # sums up to earlier cycles
        for _ in range(4 * MOST):
            for number, (core, model) in enumerate(zip(dut.core, models, strict=True)):
                if left[number] == 0:
                    sleeps[number] = not sleeps[number]
                    left[number] = rng.choice((1, 1, 2, 3, 5, MOST, rng.randrange(3 * MOST)))
                left[number] -= 1
                wakes = ctx.get(core.wakes)
                asleep = sleeps[number] and not wakes
                woken += sleeps[number] and wakes
                slept = ctx.get(core.slept)
                assert slept == 0 or model.is_clocked, "a stopped core must not be handed cycles"
                # The counters of the core cover what was handed over two cycles ago,.
                pending = ctx.get(dut.pending[number])
                assert handed[number][-2] + pending == model.total[-3]
                model.handed += slept
                handed[number].append(model.handed)
                ctx.set(core.asleep, asleep)
                model.step(asleep)
            await ctx.tick()

    simulate(dut, bench)
    assert woken >= cores
    for model in models:
        assert model.handed > MOST


def test_what_the_host_cannot_see_is_left_out():
    assert "pending" not in emit(SleepCounter(SleepCounterConfig(cores=2)), "counter").verilog
