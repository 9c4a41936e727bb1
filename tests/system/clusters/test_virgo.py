"""Tests of products commanded by C on the cores of `virgo`, on RTL."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import EXACT_KERNELS
from support.runs import passed, run_kernel

VIRGO, FP32, HETERO = (PRESETS[name] for name in ("virgo", "virgo_fp32", "virgo_hetero"))
#: Least utilisation at 64 B/cycle. Cores command FP32 as well as the host of `matrix_fp32`.
LEAST = [(VIRGO, 256, 0.97), (VIRGO, 512, 0.995), (VIRGO, 1024, 0.999), (FP32, 256, 0.98)]


def run(kernel, config, sizes, *, of_kernel=None, dram=None, results=None, **options):
    """Run a kernel on RTL; return its result, which must be correct."""
    options = {"engine": "verilator", "memory": dram or DramConfig(), "lockstep": False} | options
    posed = EXACT_KERNELS[kernel](config, **(of_kernel or {}))
    return passed(run_kernel(posed, sizes, config, results, **options))


@pytest.mark.slow
@pytest.mark.parametrize(("config", "size", "least"), LEAST, ids=["256", "512", "1024", "fp32"])
def test_utilisation(config, size, least):
    result = run("gemm", config, (size,) * 3)
    assert result["mac_utilization"] >= least
    # From the first beginning to the last end, all that the array does is wanted.
    assert result["counters"]["matrix_active"] * config.units[0].macs == size**3


@pytest.mark.slow
def test_the_array_reads_a_for_each_column_of_tiles_and_b_once():
    result = run("gemm", VIRGO, (256,) * 3)
    read = result["shared_read_bytes"]
    assert read["a"] + read["b"] == 2.25 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gemm", "gemm_add"])
@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1), (17, 33, 65), (4097, 16, 16), (100, 1000, 10), (16, 10, 1000), (129, 65, 257)],
    ids=str,
)
def test_ragged_products(kernel, c_format, sizes):
    run(kernel, VIRGO, sizes, of_kernel={"c_format": c_format})


@pytest.mark.slow
def test_every_instruction_agrees_with_the_model():
    for kernel, size in (("gemm", 160), ("gemm_bias_gelu", 160)):
        run(kernel, VIRGO, (size,) * 3, lockstep=True, dram=DramConfig(stall=0.1, seed=3))


@pytest.mark.slow
def test_gating_changes_nothing():
    runs = []
    for gating in ("gated", "ungated", "random"):
        results: dict[str, np.ndarray] = {}
        result = run("gemm_bias_gelu", VIRGO, (128, 64, 128), gating=gating, results=results)
        keys = ("cycles", "run_cycles", "region", "counters", "cores", "instructions")
        runs.append({key: result[key] for key in keys} | {"c": results["c"].tobytes()})
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.slow
def test_finishing_on_the_cores_costs_little():
    alone = run("gemm", VIRGO, (512,) * 3)
    finished = run("gemm_bias_gelu", VIRGO, (512,) * 3)
    assert finished["cycles"] <= 1.03 * alone["cycles"]


@pytest.mark.slow
def test_two_units_hardly_disturb_each_other():
    possible = {}
    for units in ((0,), (1,), (0, 1)):
        result = run("gemm_pair", HETERO, (256,) * 3, of_kernel={"units": units})
        possible[units] = result
    alone = [possible[(unit,)] for unit in (0, 1)]
    macs = [256**3, 128**3]
    peaks = [matrix.macs for matrix in HETERO.units]
    alone_combined = sum(macs) / sum(
        peak * run["cycles"] for peak, run in zip(peaks, alone, strict=True)
    )
    assert possible[0, 1]["mac_utilization"] >= alone_combined - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2, 8])
def test_other_numbers_of_cores(cores):
    config = replace(VIRGO, cores=cores, core=replace(VIRGO.core, warps=2))
    for kernel in ("gemm", "gemm_bias_gelu"):
        run(kernel, config, (100, 70, 130), lockstep=True, model_optimize=1)
