"""C programs for several matrix units, on the instruction-set model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spica.hw.address_map import ARGUMENTS, STACK_BYTES, STACK_TOP
from spica.hw.config import PRESETS
from spica.hw.errors import UserError
from spica.kernels.compile import compile_program
from spica.kernels.gemm.cores import command_depth
from spica.kernels.program import Program
from spica.sim.golden.gemm import gemm
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Stop
from spica.sim.unit_products import unit_products

TINY = PRESETS["tiny"]
HETERO = replace(TINY, cores=2, more_matrices=PRESETS["tiny_hetero"].more_matrices)
PROGRAMS = Path(__file__).with_name("programs")
SOURCES = [PROGRAMS / name for name in ("two_units.c", "two_units_second.c")]


def words_of(problem) -> list[int]:
    """Return the fields of the program's structure `Gemm`."""
    bases = [problem.a_base, problem.b_base, problem.c_base]
    pitches = [problem.a_pitch, problem.b_pitch, problem.c_pitch]
    return [problem.m, problem.n, problem.k, *bases, *pitches, 0]


@pytest.mark.parametrize("schedule", [("in_turn", 1), ("random", 1), ("random", 2)], ids=str)
def test_a_core_for_each_unit(schedule):
    products = unit_products(HETERO, [(70, 37, 50), (33, 21, 29)], offset=1 << 24)
    program = Program.load(compile_program(SOURCES, HETERO))
    iss = Iss(HETERO, schedule=schedule[0], seed=schedule[1])
    words = np.array([w for p in products for w in words_of(p.problem)], np.uint32).tobytes()
    placed = [*program.segments, (ARGUMENTS, words)]
    placed += [piece for product in products for piece in product.image]
    for address, data in placed:
        iss.write(address, bytes(data))
        iss.allow(address, len(data))
    stacks = STACK_BYTES * HETERO.cores * HETERO.core.warps * HETERO.core.threads
    iss.allow(STACK_TOP - stacks, stacks)
    outcome = iss.run(3_000_000)
    assert (outcome.stop, outcome.exit_code) == (Stop.DONE, 0), outcome
    assert iss.devices.idle and not iss.devices.error
    for product in products:
        c, touched = product.problem.result(iss.read(*product.problem.c_region))
        depth = command_depth(product.config)
        expected = gemm(product.config.matrix, product.problem, product.a, product.b, depth)
        assert np.array_equal(c, expected) and not touched


def test_a_unit_that_is_not_there():
    with pytest.raises(UserError, match="the number of a matrix unit that the machine has"):
        compile_program(SOURCES, replace(HETERO, more_matrices=()))
