"""Tests of atomics of cores in lockstep with the instruction-set model."""

import pytest

from spica.sim.iss.program_bench import small_config
from support.core.lockstep_fuzz import TIMINGS, Tally, run_programs
from support.programs.atomics import atomic_program

#: A request of each instruction, so that both sides have the same order of accesses.
CONFIGS = {
    "1x1": small_config(warps=1, threads=1, accesses=1, atomics=True),
    "4x3": small_config(warps=4, threads=3, issue_width=2, collectors=3, atomics=True),
    "2 cores": small_config(cores=2, warps=2, threads=4, snoop=False, accesses=8, atomics=True),
}


@pytest.mark.parametrize("timing", range(len(TIMINGS)))
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.full
def test_random_programs(name, timing):
    config, tally = CONFIGS[name], Tally()
    programs = (atomic_program(config, seed, spread=8 << 2 * (seed % 3)) for seed in range(6))
    run_programs(config, programs, tally, TIMINGS[timing])
    assert tally.programs == 6


@pytest.mark.full
def test_random_programs_on_the_engine_of_amaranth():
    config, tally = CONFIGS["4x3"], Tally()
    programs = (atomic_program(config, seed, length=20) for seed in range(1))
    run_programs(config, programs, tally, TIMINGS[1], engine="amaranth")
    assert tally.programs == 1
