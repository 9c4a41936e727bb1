"""Tests of C programs for several matrix units, on the instruction-set model."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.hw.isa.memory_map import numbered
from spica.hw.presets import PRESETS
from spica.kernels.gemm.cluster_array.tiles import program_tiles
from spica.kernels.gemm.pair import unit_view
from spica.kernels.gemm.styles import tile_constants
from spica.sim.run.exact_kernels import EXACT_KERNELS
from support.runs import passed, run_kernel

TINY = PRESETS["tiny"]
HETERO = replace(TINY, cores=2, units=PRESETS["tiny_hetero"].units)


@pytest.mark.parametrize("schedule", [("round_robin", 1), ("random", 1), ("random", 2)], ids=str)
@pytest.mark.parametrize("units", [(0, 1), (0,), (1,)], ids=str)
@pytest.mark.quick(3)
def test_a_core_for_each_unit(schedule, units):
    order, seed = schedule
    kernel = EXACT_KERNELS["gemm_pair"](HETERO, units=units, c_format="fp32")
    result = passed(run_kernel(kernel, (70, 37, 50), HETERO, schedule=order, seed=seed))
    names = {0: {"a", "b", "c"}, 1: {"a1", "b1", "c1"}}
    assert set(result["check"]["buffers"]) == set().union(*(names[unit] for unit in units))


def test_a_wrong_bit_of_the_second_product_is_found():
    kernel = EXACT_KERNELS["gemm_pair"](HETERO, c_format="fp32")
    problem = kernel.problem({"m": 20, "n": 20, "k": 20}, 1)
    buffer = problem.buffers["c1"]
    bits = buffer.bits.copy()
    bits.view(np.uint32)[3, 4] ^= 1
    wrong = replace(
        problem, buffers={**problem.buffers, "c1": replace(buffer, golden=lambda: bits)}
    )
    planted = replace(kernel, pose=lambda rng, **sizes: wrong)
    result = run_kernel(planted, (20, 20, 20), HETERO)
    assert result["check"]["buffers"]["c1"]["wrong"] == 1


def test_constants_of_each_unit_are_those_of_its_half():
    constants = {name: value for name, value, _ in tile_constants(HETERO)}
    for number in range(2):
        for name, value in asdict(program_tiles(unit_view(HETERO, number))).items():
            assert constants[f"{numbered('half_gemm', number)}_plan_{name}"] == str(value)


def test_a_unit_that_is_not_there():
    with pytest.raises(UserError, match="two matrix units and two cores"):
        EXACT_KERNELS["gemm_pair"](replace(HETERO, units=HETERO.units[:1]))
