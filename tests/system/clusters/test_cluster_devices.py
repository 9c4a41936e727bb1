"""Tests of programs on cores that command the DMA and the matrix unit: RTL against the model."""

import numpy as np
import pytest

from spica.base.errors import MachineError
from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import ARGUMENTS, ENTRY
from spica.sim.harness.dram import DramConfig
from spica.sim.iss.program_bench import END, small_config
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.memory_layout import place_buffers
from spica.sim.run.buffer_check import check_buffer
from spica.sim.run.exact_kernels import exact_cores_kernel
from spica.sim.run.loading import build
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import argument_words
from support.cluster.host_run import run_program, start_commands
from support.cluster.two_cores import TWO
from support.core.core_bench import run_model
from support.programs.unit_programs import (
    alone,
    cisc_program,
    held_program,
    mixed_program,
    tile_program,
)

pytestmark = pytest.mark.full

ROOM = 4096


def both(machine: CommandMachine, text: str, room: int = ROOM, config: MachineConfig = TWO):
    """Run a program on a machine; compare DRAM with the model's."""
    run = run_program(machine, text, room)
    model = run_model(config, text, room)
    assert run.memory == model.read(ENTRY, room).tobytes()
    return run


def test_a_thread_loads_by_the_dma_while_another_counts():
    config = small_config(warps=2, threads=1)
    with CommandMachine(
        config, name="small", engine="amaranth", memory=DramConfig(latency=10)
    ) as machine:
        both(machine, held_program(config, 2, 3), config=config)


@pytest.fixture(scope="module")
def machine():
    """Return a cluster of two cores with a matrix unit; DRAM is slow and stalls."""
    dram = DramConfig(latency=30, stall=0.2, seed=3)
    with CommandMachine(TWO, name="two_cores", optimize=1, memory=dram, watchdog=5000) as machine:
        yield machine


@pytest.mark.slow
def test_a_thread_commands_a_tile_by_registers(machine):
    machine.reset()
    text = tile_program(TWO)
    assert np.frombuffer(both(machine, text).memory, np.uint16).any()


@pytest.mark.slow
def test_a_thread_commands_a_tile_by_words(machine):
    machine.reset()
    both(machine, cisc_program(TWO), 3 * ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_mixes_of_registers_and_memory(machine, seed):
    machine.reset()
    both(machine, mixed_program(TWO, seed, 120))


@pytest.mark.slow
def test_a_full_queue_holds_its_warp_alone(machine):
    machine.reset()
    both(machine, held_program(TWO, 12, 40))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tile", "held"])
def test_gating_changes_nothing(machine, name):
    text = {"tile": tile_program(TWO), "held": held_program(TWO, 12, 40)}[name]
    results = []
    for gating in ("gated", "ungated", "random"):
        options = {"optimize": 1, "memory": machine.memory, "gating": gating}
        with CommandMachine(TWO, name="two_cores", **options) as fresh:  # stalls restart
            run = run_program(fresh, text, ROOM)
        results.append((run.memory, run.execution.cycles))
    assert results[0] == results[1] == results[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "access", ["lb a1, 0(s0)", "sh a1, 0(s0)", "lw a1, 28(s0)", "sw a1, 36(s0)", "lw a1, 64(s0)"]
)
def test_what_a_unit_refuses_is_a_fault(machine, access):
    machine.reset()
    with pytest.raises(MachineError, match="raised fault REFUSED in threads 0x1 of warp 0"):
        run_program(machine, alone(TWO) + access + END, ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("c_format, gaps", [("fp16", (0, 0, 0)), ("fp32", (3, 5, 7))])
@pytest.mark.parametrize("size", [(32, 32, 32), (17, 33, 65)], ids=str)
def test_the_library_multiplies_to_the_bit(machine, size, c_format, gaps):
    machine.reset()
    kernel = exact_cores_kernel(TWO, c_format=c_format, gaps=gaps)
    problem = kernel.problem(dict(zip("mnk", size, strict=True)), 1)
    program = build(kernel.sources, TWO, SimtOptions(), None)
    regions = place_buffers({name: of.data.nbytes for name, of in problem.buffers.items()}, TWO)
    for name, buffer in problem.buffers.items():
        machine.write(regions[name].address, np.ascontiguousarray(buffer.data))
    for address, data in program.segments:
        machine.write(address, data)
    machine.write(ARGUMENTS, argument_words(problem, regions))
    execution = machine.execute(start_commands(TWO.cores).array(), 1_000_000)
    assert not any(execution.reads)
    for name, buffer in problem.buffers.items():
        check = check_buffer(name, buffer, machine.read(regions[name].address, buffer.data.nbytes))
        assert not check.wrong, check
