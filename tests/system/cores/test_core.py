"""Tests of the whole core: programs leave the same memory as on the instruction-set model."""

import pytest

from spica.hw.config import CoreBlockConfig
from spica.hw.core.core import Core
from spica.hw.isa.memory_map import ENTRY
from spica.sim.engine.testbench import require_no_loop
from spica.sim.iss.program_bench import small_config
from support.core.core_bench import run_core, run_model
from support.programs.samples import ROOM, sample


@pytest.mark.full
def test_it_converts():
    require_no_loop(Core, CoreBlockConfig.of(small_config(warps=2, threads=2)))


@pytest.mark.parametrize("shape", [(1, 1), (2, 4)])
@pytest.mark.parametrize("name", ["integers", "floats", "divergence"])
@pytest.mark.quick("divergence-shape0")
def test_programs_leave_what_they_leave_on_the_model(name, shape):
    warps, threads = shape
    config = small_config(warps=warps, threads=threads)
    text = sample(name)
    expected = run_model(config, text, ROOM)
    run = run_core(config, text, ROOM)
    assert run.faults == []
    assert run.memory == expected.read(ENTRY, ROOM).tobytes()
    assert run.instructions == expected.statistics.instructions
