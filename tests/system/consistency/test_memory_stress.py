"""Stress tests of all agents on the same few lines of DRAM, with constant evictions."""

from collections import Counter

import numpy as np
import pytest

from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.cluster.small_caches import MEMORIES, SMALL_CACHES, run_placed, small_machines
from support.cluster.two_cores import TWO, two_cores
from support.consistency.race_check import final_memory, wrong_reads
from support.consistency.race_program import FIELD, LOG, MemoryRaces
from support.programs.cluster_stress import ClusterStress
from support.programs.placed_program import is_dram, place

LIMIT = 10_000_000
#: Loads and stores of threads to shared lines, on each memory, by kind of program.
RACES, DETERMINED = 100_000, 170_000


def on_model(config, program, schedule="round_robin", seed=1):
    """Return the model with its engines after a program."""
    iss = Iss(config, schedule=schedule, seed=seed)
    place(iss, program)
    outcome = iss.run(LIMIT)
    assert outcome.stop is StopReason.DONE, outcome
    assert not iss.devices.error
    return iss


def left(machine, program) -> list[bytes]:
    """Return the final DRAM contents of a program."""
    return [machine.read(*region).tobytes() for region in program.regions if is_dram(region[0])]


@pytest.mark.parametrize("seed", range(4))
def test_races_without_caches_are_within_bounds(seed):
    races = MemoryRaces(TWO, seed, epochs=2)
    iss = on_model(TWO, races.program, "random", seed)
    assert not list(wrong_reads(races, iss.read))
    assert iss.read(FIELD, races.size).tobytes() == final_memory(races)
    assert races.accesses > 2000


def test_what_was_overtaken_or_is_too_new_is_told():
    races = MemoryRaces(TWO, 1, epochs=2)
    iss = on_model(TWO, races.program)
    log = iss.read(LOG, 4 * races.harts * races.logged).view(np.uint32).copy()
    told = 0
    places = range(0, len(log), 31)
    for at in places:
        for change in (-1, 1):
            changed = log.copy()
            changed[at] = (int(log[at]) + change) & 0xFFFF_FFFF
            told += bool(list(wrong_reads(races, lambda *_, changed=changed: changed)))
    # Other values depend on which agent read a little earlier or later.
    assert told > len(places)


@pytest.fixture(scope="module")
def machine():
    """Return the cluster of two cores of other tests."""
    with two_cores(memory=MEMORIES[0]) as machine:
        yield machine


@pytest.mark.full
def test_races(machine):
    races = MemoryRaces(TWO, 7, epochs=2)
    machine.begins = True
    place(machine, races.program)
    outcome = machine.run(LIMIT)
    assert (outcome.stop, outcome.violation) == (StopReason.DONE, "")
    assert not list(wrong_reads(races, machine.harness.read))
    assert machine.harness.read(FIELD, races.size).tobytes() == final_memory(races)


@pytest.fixture(scope="module")
def machines():
    """Return clusters with caches of few lines, each with different memory."""
    with small_machines() as machines:
        yield machines


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
        model = on_model(SMALL_CACHES, stress.program)
        assert left(machine, stress.program) == left(model, stress.program), seed
        counts += Counter(accesses=stress.effort.accesses, descriptors=stress.effort.descriptors)
        seed += 1
    print(dict(counts))
    assert counts["descriptors"] > 100
