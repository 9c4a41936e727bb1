"""Tests of C programs with products on the matrix unit, on the instruction-set model."""

from pathlib import Path

import numpy as np
import pytest

from spica.hw.isa.memory_map import ARGUMENTS, DRAM_BASE, STACK_BYTES, STACK_TOP
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.program import Program
from spica.sim.golden.matrix.systolic.systolic import read_out, systolic_ws
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss

VIRGO = PRESETS["virgo"]
M, N, K = VIRGO.units[0].tile
A, B, C = (DRAM_BASE + offset for offset in (0x100000, 0x200000, 0x300000))
SCHEDULES = [("round_robin", 1), ("random", 1), ("random", 2)]


def operands(depth):
    """Return A and B."""
    rng = np.random.default_rng(depth)
    return (rng.standard_normal(shape).astype(np.float16) for shape in ((M, depth), (depth, N)))


def expected(a, b):
    """Return the stored bits of C."""
    total = systolic_ws(a, b, VIRGO.units[0].rows)
    return read_out(total, "fp16").view(np.uint16)


def run(name, schedule, arguments, a, b, c_bytes):
    """Run a program; return the machine after a successful end."""
    source = Path(__file__).parents[2] / "support" / "c_programs" / name
    program = Program.load(compile_program([source], VIRGO))
    iss = Iss(VIRGO, schedule=schedule[0], seed=schedule[1])
    words = np.array(arguments, np.uint32).tobytes()
    placed = [*program.segments, (ARGUMENTS, words), (A, a.tobytes()), (B, b.tobytes())]
    for address, data in placed:
        iss.write(address, data)
        iss.allow(address, len(data))
    iss.allow(C, c_bytes)
    stacks = STACK_BYTES * VIRGO.cores * VIRGO.core.warps * VIRGO.core.threads
    iss.allow(STACK_TOP - stacks, stacks)
    outcome = iss.run(3_000_000)
    assert (outcome.stop, outcome.exit_code) == (StopReason.DONE, 0), outcome
    assert iss.devices.idle and not iss.devices.error
    return iss


@pytest.mark.parametrize("slabs", [1, 3])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_one_thread_drives_a_tile(schedule, slabs):
    a, b = operands(slabs * K)
    iss = run("gemm_tile.c", schedule, (slabs * K, A, B, C), a, b, 2 * M * N)
    c = iss.read(C, 2 * M * N).view(np.uint16).reshape(M, N)
    assert np.array_equal(c, expected(a, b))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_all_cores_read_what_the_unit_left_in_shared_memory(schedule):
    a, b = operands(K)
    iss = run("gemm_spill.c", schedule, (A, B, C), a, b, 4 * M * N)
    c = iss.read(C, 4 * M * N).view(np.uint32).reshape(M, N)
    assert np.array_equal(c, expected(a, b).astype(np.uint32) + 1)
