"""End-to-end tests of matrix products on emitted RTL: values, cycles, utilisation."""

import dataclasses
import random

import pytest

from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.presets import PRESETS
from spica.hw.presets.override import override
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.options import RunOptions
from spica.sim.run.product_run import run_gemm
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.workload import run_workload
from support.cluster.gemm_bench import GemmBench

TINY = PRESETS["tiny_matrix"]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.full
def test_random_products_on_tiny(stall):
    rng = random.Random(int(stall * 10))
    with CommandMachine(TINY, name="tiny_matrix", memory=DramConfig(stall=stall)) as machine:
        GemmBench(machine, TINY).assert_many_right(40, rng)


def test_the_account_of_a_real_run_adds_up():
    result = run_workload(ProductWorkload(m=64, n=64, k=64), "tiny_matrix", TINY, RunOptions())
    unit = result["matrix_units"]["matrix"]
    cycles = {name: part["cycles"] for name, part in unit["breakdown"].items()}
    assert sum(cycles.values()) == pytest.approx(result["cycles"])
    assert min(cycles.values()) >= 0, cycles
    assert cycles["ragged"] == 0
    assert result["mac_utilization"] > 0.7
    counters, traffic = result["counters"], result["memory"]["traffic"]
    assert counters["overwrite_rows"] + counters["accumulate_rows"] == counters["matrix_active"]
    assert traffic["run"]["read_bytes"] == traffic["planned_read_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "k"), [(129, 65, 257), (3, 4100, 20), (4100, 3, 20), (5, 7, 4200)]
)
def test_ragged_and_long_products_on_matrix(m, n, k):
    config = PRESETS["matrix"]
    problem = GemmProblem.placed(m=m, n=n, k=k, a_pitch=k + 4096, b_pitch=n + 4097, c_pitch=n + 1)
    with CommandMachine(config, name="matrix") as machine:
        check = run_gemm(machine, config, problem, "extreme").c_check
    assert check.passed, check


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_other_machines(seed):
    rng = random.Random(seed)
    rows, columns = rng.choice([2, 4, 8]), rng.choice([2, 4, 8])
    matrix = dataclasses.replace(
        TINY.units[0],
        rows=rows,
        columns=columns,
        operand=rng.choice(list(ARITHMETIC)),
        multiply_add_latency=rng.choice([None, rng.randint(1, 6)]),
        add_latency=rng.randint(1, 4),
        accumulator_bytes=4096,
        tile=(rows * rng.randint(1, 4), columns * rng.randint(1, 4), rows * rng.randint(1, 4)),
    )
    shared = dataclasses.replace(TINY.shared, subbanks=8)
    config = dataclasses.replace(TINY, units=(matrix,), shared=shared)
    with CommandMachine(config, name=f"machine_{seed}", optimize=1) as machine:
        GemmBench(machine, config).assert_many_right(20, rng)


#: Other operands on the array of `matrix`: settings, DRAM bytes per cycle, utilisation. Tiles of
#: fp32 are so large that shared memory holds few, and operands are loaded several times. 32-bit
#: results leave a row in two cycles, which a compute of 256 does not always hide.
OTHER_OPERANDS = {
    "bf16": ([], 64, 0.97),
    "fp8_e4m3": ([], 32, 0.96),
    "fp8_e5m2": ([], 32, 0.96),
    "int8": ([], 32, 0.90),
    "fp32": (["shared.subbanks=16"], 64, 0.91),
}


@pytest.mark.slow
@pytest.mark.parametrize("operand", OTHER_OPERANDS)
def test_other_operands_on_matrix(operand):
    settings, bandwidth, least = OTHER_OPERANDS[operand]
    config = override(PRESETS["matrix"], [f"matrix.operand={operand}", *settings])
    options = RunOptions(memory=DramConfig(bytes_per_cycle=bandwidth))
    for m, n, k in ((1, 1, 1), (17, 33, 65), (129,) * 3):
        product = ProductWorkload(m=m, n=n, k=k, data="extreme")
        result = run_workload(product, "matrix", config, options)
        assert result["check"]["verdict"] == "pass", result["check"]
    for c_format in ARITHMETIC[operand].c_formats:
        product = ProductWorkload(m=256, n=256, k=256, c_format=c_format)
        result = run_workload(product, "matrix", config, options)
        assert result["check"]["verdict"] == "pass", result["check"]
        if c_format == ARITHMETIC[operand].narrow:
            assert result["mac_utilization"] >= least, result["matrix_units"]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "target"), [(256, 0.98), (512, 0.997), (1024, 0.999)])
def test_utilisation_on_matrix(size, target):
    product = ProductWorkload(m=size, n=size, k=size)
    result = run_workload(product, "matrix", PRESETS["matrix"], RunOptions())
    assert result["check"]["verdict"] == "pass"
    assert result["mac_utilization"] >= target, result["matrix_units"]
