"""Tests that clusters with cores depend on their reset only, at any time."""

import random

import pytest

from spica.base.errors import MachineError
from spica.sim.engine import verilator_engine
from spica.sim.harness.stop_reason import StopReason
from spica.sim.machine.command_machine import CommandMachine
from support.cluster.host_run import start_commands
from support.cluster.small_caches import MEMORIES, SMALL_CACHES, place_alone, run_placed
from support.cluster.two_cores import TWO, two_cores
from support.consistency.litmus_program import LitmusProgram
from support.consistency.litmus_shapes import SHAPES
from support.consistency.race_check import final_memory, wrong_reads
from support.consistency.race_program import FIELD, MemoryRaces
from support.programs.placed_program import left, place
from support.random_start import start_at_random

LIMIT = 2_000_000


@pytest.mark.full
def test_a_run_after_a_reset_in_the_middle_is_as_the_first():
    races, runs = MemoryRaces(TWO, 3, epochs=2, bursts=2), []
    rng = random.Random(1)
    with two_cores(memory=MEMORIES[0]) as machine:
        for _ in range(4):
            place(machine, races.program)
            outcome = machine.run(LIMIT)
            assert (outcome.stop, outcome.violation) == (StopReason.DONE, "")
            runs.append((outcome.cycles, *left(machine.harness, races.program)))
            machine.begins = True
            assert machine.run(rng.randrange(100, outcome.cycles)).stop is StopReason.LIMIT
            machine.begins = True
    # If random stalls of DRAM also restart, all cycles are equal.
    assert len(set(runs)) == 1


@pytest.fixture
def make(monkeypatch):
    """Return a function that makes a machine with random initial registers and memories."""
    start_at_random(monkeypatch)

    def make(seed, **options):
        options = {"memory": MEMORIES[0], "watchdog": 5000} | options
        return CommandMachine(SMALL_CACHES, name="small_caches", optimize=1, seed=seed, **options)

    return make


@pytest.mark.slow
def test_without_a_reset_nothing_works(make, monkeypatch):
    monkeypatch.setattr(verilator_engine, "RESET_CYCLES", 0)
    races = MemoryRaces(SMALL_CACHES, 1, epochs=1)
    for seed in range(3):
        with make(seed) as machine, pytest.raises(MachineError):
            run_placed(machine, races.program, LIMIT)


@pytest.mark.slow
def test_starts_do_not_show(make):
    races, seen = MemoryRaces(SMALL_CACHES, 2), set()
    for seed in range(6):
        with make(seed, gating=("gated", "ungated")[seed % 2]) as machine:
            cycles = run_placed(machine, races.program, LIMIT).cycles
            assert not list(wrong_reads(races, machine.read))
            assert machine.read(FIELD, races.size).tobytes() == final_memory(races)
            seen.add((cycles, *left(machine, races.program)))
    assert len(seen) == 1


@pytest.mark.slow
def test_a_reset_in_the_middle_leaves_nothing(make):
    """It may interrupt any program and any transfer with DRAM."""
    races, pending, seen = MemoryRaces(SMALL_CACHES, 2, epochs=2), 0, set()
    others = [LitmusProgram(SMALL_CACHES, SHAPES[name], 40, 1).program for name in (
        "dma-writes-message-fence", "stores-apart-none-none", "code-message-fence",
    )]  # fmt: skip
    for seed in range(4):
        rng = random.Random(seed)
        with make(seed) as machine:
            for round_number in range(8):
                if round_number:
                    place_alone(machine, rng.choice([*others, races.program]))
                    with pytest.raises(MachineError, match="not done after"):
                        commands = start_commands(SMALL_CACHES.cores).array()
                        machine.execute(commands, rng.randrange(30, 6000))
                    channels = [machine.harness.channel(n) for n in range(2)]
                    pending += any(reads or writes for _, reads, writes in channels)
                cycles = run_placed(machine, races.program, LIMIT).cycles
                seen.add((cycles, *left(machine, races.program)))
    assert len(seen) == 1
    assert pending > 8
