"""Litmus tests of several agents: results are allowed, and weak results do occur."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.cluster.small_caches import MEMORIES, run_placed, small_machines
from support.cluster.two_cores import TWO, two_cores
from support.consistency.litmus_program import OUT, LitmusProgram
from support.consistency.litmus_run import allowed, run_litmus
from support.consistency.litmus_shapes import SHAPES
from support.programs.placed_program import place

LIMIT = 10_000_000
QUICK = ("message-apart-none-none", "message-apart-fence-fence", "dma-writes-message-fence")
#: Rounds of a program, and the most programs until all weak results occurred.
ROUNDS, PROGRAMS = 100, 40


def on_model(config, test, schedule="round_robin", seed=1):
    """Run a test on the instruction-set model, which has no caches."""
    iss = Iss(config, schedule=schedule, seed=seed)

    def run(program):
        place(iss, program)
        outcome = iss.run(LIMIT)
        assert outcome.stop is StopReason.DONE, outcome

    return run_litmus(run, iss.read, test)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.quick(12)
def test_without_caches_all_is_allowed(name):
    for seed in range(2):
        test = LitmusProgram(TWO, SHAPES[name], 6, seed)
        seen = on_model(TWO, test, "random", seed)
        assert not seen.wrong and seen.counts.total() == 6 * test.instances


def test_what_must_be_seen_is_allowed():
    for shape in SHAPES.values():
        beats = tuple(None if place.startswith("s") else n for n, place in enumerate(shape.places))
        registers = {registers for registers, _ in allowed(shape, beats)}
        assert set(shape.weak) <= registers, shape.name


def test_what_is_not_allowed_is_told():
    test = LitmusProgram(TWO, SHAPES["message-apart-fence-fence"], 4, 1)
    iss = Iss(TWO)
    place(iss, test.program)
    iss.run(LIMIT)
    row = 4 * 4 * test.threads * test.warps  # of the first thread of the second core
    for values, wrong in (((1, 1), False), ((1, 0), True), ((0, 7), True)):
        iss.write(OUT + row, np.array(values, np.uint32))
        seen = run_litmus(lambda program: None, iss.read, test)
        assert bool(seen.wrong) == wrong
        assert all("round 0, thread 0" in each for each in seen.wrong)


@pytest.fixture(scope="module")
def machine():
    """Return the cluster of two cores of other tests."""
    dram = MEMORIES[0]
    with two_cores(memory=dram, watchdog=5000) as machine:
        yield machine


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.full
def test_what_is_seen_is_allowed(machine, name):
    test = LitmusProgram(TWO, SHAPES[name], 30, 1)

    def run(program):
        machine.begins = True
        place(machine, program)
        outcome = machine.run(LIMIT)
        assert (outcome.stop, outcome.violation) == (StopReason.DONE, "")

    seen = run_litmus(run, machine.harness.read, test)
    assert not seen.wrong
    assert len(seen.registers) >= 2


@pytest.fixture(scope="module")
def machines():
    """Return clusters with caches of few lines, each with different memory."""
    with small_machines() as machines:
        yield machines


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_what_small_caches_show_is_allowed_and_weak(machines, name):
    shape, registers = SHAPES[name], Counter()
    for seed in range(PROGRAMS):
        machine = machines[seed % len(machines)]
        test = LitmusProgram(machine.config, shape, ROUNDS, seed)
        seen = run_litmus(partial(run_placed, machine), machine.read, test)
        assert not seen.wrong, seen.wrong[:5]
        registers += seen.registers
        if seed + 1 >= len(machines) and all(registers[weak] for weak in shape.weak):
            break
    print(dict(registers))
    assert all(registers[weak] for weak in shape.weak), registers
