"""Litmus tests of several agents, and stress tests of all agents on the same few lines of DRAM."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from spica.sim.iss.machine import Iss
from support.cluster.small_caches import MEMORIES, SMALL_CACHES, run_placed, small_machines
from support.cluster.two_cores import TWO, two_cores
from support.consistency.litmus_program import OUT, LitmusProgram
from support.consistency.litmus_run import allowed, run_litmus
from support.consistency.litmus_shapes import SHAPES
from support.consistency.race_check import final_memory, wrong_reads
from support.consistency.race_program import FIELD, LOG, MemoryRaces
from support.programs.cluster_stress import ClusterStress
from support.programs.placed_program import complete, left, modelled

QUICK = ("message-apart-none-none", "message-apart-fence-fence", "dma-writes-message-fence")
#: Rounds of a program, and the most programs until all weak results occurred.
ROUNDS, PROGRAMS = 100, 40


def on_rtl(machine, program):
    """Run a program on a new start of all cores; the bus rules must hold."""
    machine.begins = True
    assert complete(machine, program).violation == ""


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.quick(12)
def test_without_caches_all_is_allowed(name):
    for seed in range(2):
        test = LitmusProgram(TWO, SHAPES[name], 6, seed)
        iss = Iss(TWO, schedule="random", seed=seed)
        seen = run_litmus(partial(complete, iss), iss.read, test)
        assert not seen.wrong and seen.counts.total() == 6 * test.instances


def test_what_must_be_seen_is_allowed():
    for shape in SHAPES.values():
        beats = tuple(None if place.startswith("s") else n for n, place in enumerate(shape.places))
        registers = {registers for registers, _ in allowed(shape, beats)}
        assert set(shape.weak) <= registers, shape.name


def test_what_is_not_allowed_is_reported():
    test = LitmusProgram(TWO, SHAPES["message-apart-fence-fence"], 4, 1)
    iss = Iss(TWO)
    complete(iss, test.program)
    row = 4 * 4 * test.threads * test.warps  # of the first thread of the second core
    for values, wrong in (((1, 1), False), ((1, 0), True), ((0, 7), True)):
        iss.write(OUT + row, np.array(values, np.uint32))
        seen = run_litmus(lambda program: None, iss.read, test)
        assert bool(seen.wrong) == wrong
        assert all("round 0, thread 0" in message for message in seen.wrong)


@pytest.fixture(scope="module")
def machine():
    """Return the cluster of two cores of other tests."""
    with two_cores(memory=MEMORIES[0]) as machine:
        yield machine


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.full
def test_what_is_seen_is_allowed(machine, name):
    test = LitmusProgram(TWO, SHAPES[name], 30, 1)
    seen = run_litmus(partial(on_rtl, machine), machine.harness.read, test)
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


#: Loads and stores of threads to shared lines, on each memory, by kind of program.
RACES, DETERMINED = 100_000, 170_000


@pytest.mark.parametrize("seed", range(4))
def test_races_without_caches_are_within_bounds(seed):
    races = MemoryRaces(TWO, seed, epochs=2)
    iss = modelled(TWO, races.program, "random", seed)
    assert not list(wrong_reads(races, iss.read))
    assert iss.read(FIELD, races.size).tobytes() == final_memory(races)
    assert races.accesses > 2000


def test_what_was_overtaken_or_is_too_new_is_reported():
    races = MemoryRaces(TWO, 1, epochs=2)
    iss = modelled(TWO, races.program)
    log = iss.read(LOG, 4 * races.harts * races.logged).view(np.uint32).copy()
    reported = 0
    places = range(0, len(log), 31)
    for at in places:
        for change in (-1, 1):
            changed = log.copy()
            changed[at] = (int(log[at]) + change) & 0xFFFF_FFFF
            reported += bool(list(wrong_reads(races, lambda *_, changed=changed: changed)))
    # Other values depend on which agent read a little earlier or later.
    assert reported > len(places)


@pytest.mark.full
def test_races(machine):
    races = MemoryRaces(TWO, 7, epochs=2)
    on_rtl(machine, races.program)
    assert not list(wrong_reads(races, machine.harness.read))
    assert machine.harness.read(FIELD, races.size).tobytes() == final_memory(races)


def test_the_cases_are_a_million():
    assert len(MEMORIES) * (RACES + DETERMINED) >= 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MEMORIES)))
def test_races_in_small_caches(machines, number):
    machine, counts = machines[number], Counter()
    seed = 1000 * number
    while counts["accesses"] < RACES:
        races = MemoryRaces(SMALL_CACHES, seed, epochs=8, bursts=6, lines=16 + seed % 3 * 16)
        counts["cycles"] += run_placed(machine, races.program).cycles
        wrong = list(wrong_reads(races, machine.read))
        assert not wrong, (seed, wrong[:5])
        assert machine.read(FIELD, races.size).tobytes() == final_memory(races), seed
        counts["accesses"] += races.accesses
        seed += 1
    print(dict(counts))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MEMORIES)))
def test_what_is_determined_in_small_caches(machines, number):
    """DMA and matrix unit use the same lines; final memory equals the model's."""
    machine, counts = machines[number], Counter()
    seed = 1000 * number
    while counts["accesses"] < DETERMINED:
        stress = ClusterStress(SMALL_CACHES, seed, epochs=6, dram=True)
        counts["cycles"] += run_placed(machine, stress.program).cycles
        model = modelled(SMALL_CACHES, stress.program)
        assert left(machine, stress.program) == left(model, stress.program), seed
        counts += Counter(accesses=stress.effort.accesses, descriptors=stress.effort.descriptors)
        seed += 1
    print(dict(counts))
    assert counts["descriptors"] > 100
