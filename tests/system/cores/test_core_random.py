"""Tests of random multi-threaded programs on cores of all kinds, in lockstep."""

from dataclasses import replace
from itertools import count

import pytest

from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.operations import PORTS, Unit
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.core.lockstep_fuzz import (
    FUZZ_CONFIGS,
    SWEEP_CONFIGS,
    TIMINGS,
    Tally,
    random_program,
    run_programs,
    shape_name,
)
from support.programs.placed_program import place
from support.programs.reduction import reduce_program
from support.slow_cases import fast_only

#: Instructions that end a whole core; random programs have none.
ENDING = {"ecall", "ebreak"}
EXECUTED = {name for name, each in INSTRUCTIONS.items() if each.unit is not Unit.TENSOR} - ENDING
#: Shares of the instructions for each of `TIMINGS`: few for slow timings.
SHARES = (0.7, 0.15, 0.1, 0.05)


def programs_until(tally, instructions, config, seeds, rounds):
    """Return random programs until this many instructions were counted."""
    for seed in seeds:
        if tally.instructions >= instructions:
            return
        yield random_program(seed, config, rounds)


def fuzz(config, instructions, first_seed, rounds, **options):
    """Run random programs with every memory; return the counts."""
    tally, seeds, wanted = Tally(), count(first_seed), 0
    for number, (memory, share) in enumerate(zip(TIMINGS, SHARES, strict=True)):
        wanted += share * instructions
        gating = ("gated", "random", "ungated", "gated")[number]
        programs = programs_until(tally, wanted, config, seeds, rounds)
        run_programs(config, programs, tally, memory, gating=gating, seed=number, **options)
    assert tally.instructions >= instructions
    return tally


def require_variety(tally, config):
    """Require enough of every kind of difficulty, relative to the number of instructions."""
    core, thousands = config.core, tally.instructions // 1000
    assert tally.programs >= len(TIMINGS)
    assert tally.barriers >= thousands
    assert tally.mnemonics["vx_wspawn"] >= thousands // 10
    assert tally.mnemonics["vx_pred"] >= 3 * thousands
    assert tally.mnemonics["vx_tmc"] >= 3 * thousands
    assert tally.divergent_splits >= (thousands if core.threads > 1 else 0)
    floats = sum(tally.mnemonics[name] for name in EXECUTED if name.endswith(".s"))
    accesses = sum(n for name, n in tally.mnemonics.items() if INSTRUCTIONS[name].unit is Unit.LSU)
    assert floats >= 50 * thousands
    assert accesses >= 50 * thousands


#: The fast tests have every number of cores and issue slots, scheduler, mapping and arbiter.
QUICK = FUZZ_CONFIGS[:5]


@pytest.mark.parametrize("config", fast_only(QUICK, FUZZ_CONFIGS), ids=shape_name)
@pytest.mark.quick("1x2x4")
def test_random_programs(config):
    tally = fuzz(config, 30_000, first_seed=1, rounds=1)
    require_variety(tally, config)


def test_random_programs_are_of_200_000_instructions_on_cores_of_all_kinds():
    assert len(FUZZ_CONFIGS) * 30_000 >= 200_000
    cores = [config.core for config in FUZZ_CONFIGS]
    for name, values in {
        "warps": {1, 2, 3, 4, 8},
        "threads": {1, 2, 3, 4, 5, 8},
        "issue_width": {1, 2},
        "banks": {1, 2, 4, 8, 16},
        "bank_mapping": {"warp", "thread"},
        "bank_arbiter": {"round_robin", "age"},
        "collectors": {1, 2, 4, 5, 6, 8},
        "snoop": {True, False},
        "writeback_buses": {1, 2, 3, 4},
        "scheduler": {"round_robin", "greedy_then_oldest", "oldest", "two_level"},
        "accesses": {1, 2, 4, 8, 16, 32},
        "divergent_branch": {"error", "vortex"},
        "fma_latency": {3, 4, 5, 6},
        "multiply_latency": {2, 3, 4},
    }.items():
        assert {getattr(core, name) for core in cores} == values, name
    for port in (port for port, info in PORTS.items() if info.lanes is not None):
        assert any(core.lanes(port) < core.threads for core in cores), port
    assert {config.cores for config in FUZZ_CONFIGS} == {1, 2}


def test_programs_are_the_same_for_a_seed_and_others_for_another():
    config = FUZZ_CONFIGS[0]
    for seed in (6, 7):
        assert random_program(seed, config, 2) == random_program(seed, config, 2)
        assert random_program(seed, config, 2) != random_program(seed + 4, config, 2)


def test_a_program_is_reduced_to_what_shows_something():
    """Only a quotient with its operands and its address remains."""
    config = FUZZ_CONFIGS[0]
    iss = Iss(config)

    def shows(program):
        iss.reset()
        place(iss, program)
        ends = iss.run(50_000).stop is StopReason.DONE
        return ends and bool((iss.read(*program.regions[1])[:4].view("<u4") == 77).any())

    program = random_program(4, config, 1)
    marked = program.text.replace(
        "vx_tmc x0",
        "li a0, 539\nli a1, 7\nli a2, 0x80800000\ndiv a0, a0, a1\nsw a0, 0(a2)\nvx_tmc x0",
    )
    assert marked != program.text
    reduced = reduce_program(replace(program, text=marked), shows)
    assert shows(reduced)
    lines = reduced.text.splitlines()
    assert {"div a0, a0, a1", "sw a0, 0(a2)"} <= set(lines)
    # Operands, address, quotient, store and an end.
    assert len(lines) == 6


@pytest.mark.slow
@pytest.mark.parametrize("config", (*FUZZ_CONFIGS, *SWEEP_CONFIGS), ids=shape_name)
def test_many_random_programs(config):
    """Ten million instructions in total, on sixteen kinds of cores."""
    tally = fuzz(config, 650_000, first_seed=10_000, rounds=2, optimize=1)
    require_variety(tally, config)
    assert set(tally.mnemonics) == EXECUTED
