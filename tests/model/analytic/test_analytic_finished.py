"""Tests of the analytic model of products whose cores finish C against RTL."""

from dataclasses import replace

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.gemm.cores import command_depth
from spica.sim.analytic.finished.prediction import KERNELS
from spica.sim.analytic.finished.program import FITTED
from spica.sim.analytic.gemm import predict, product_of, traffic_of
from spica.sim.analytic.program_steps import program_steps, program_tiles
from spica.sim.analytic.work import CORES, counted_traffic
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

TINY, VIRGO = PRESETS["tiny"], PRESETS["virgo"]
FORMATS = ("fp16", "fp32")


def product(config, sizes, **options):
    return product_of(config, **dict(zip("mnk", sizes, strict=True)), **options)


def run(kernel, config, sizes, c_format):
    """Run a product on RTL; return its result, which must be correct."""
    options = SimtOptions(engine="verilator", lockstep=False)
    workload = KernelWorkload(
        EXACT_KERNELS[kernel](config, c_format=c_format), dict(zip("mnk", sizes, strict=True))
    )
    result = run_workload(workload, "machine", config, options)
    assert result["check"]["verdict"] == "pass", result["check"]
    return result


@pytest.mark.parametrize("c_format", FORMATS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (32, 16, 32), (40, 70, 50)], ids=str)
@pytest.mark.full
def test_work_is_exact_on_a_small_machine(sizes, c_format):
    result = run("gemm_bias", TINY, sizes, c_format)
    found = traffic_of(TINY, product(TINY, sizes, c_format=c_format), kernel="gemm_bias")
    assert found == counted_traffic(TINY, result)
    assert result["prediction"] is None


@pytest.mark.slow
@pytest.mark.parametrize("c_format", FORMATS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sizes", [(192, 192, 192), (512, 64, 64), (32, 64, 64)], ids=str)
def test_cycles_of_products_of_no_fit_are_within_ten_percent(kernel, sizes, c_format):
    assert sizes not in FITTED
    found = predict(VIRGO, product(VIRGO, sizes, c_format=c_format), kernel=kernel)
    result = run(kernel, VIRGO, sizes, c_format)
    require_prediction(VIRGO, found, result, cycles=0.1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_terms_are_the_cycles(kernel):
    for sizes in FITTED:
        found = predict(VIRGO, product(VIRGO, sizes), kernel=kernel)
        assert sum(found.terms.values()) == found.cycles
        assert min(found.terms.values()) >= 0
        assert found.traffic.active <= found.terms["multiply"]


def test_cores_read_every_element_once():
    found = traffic_of(VIRGO, product(VIRGO, (256, 128, 64)), kernel="gemm_add")
    assert found.shared_read_bytes[CORES] == 4 * 256 * 128
    assert found.dma_written_bytes == 0


def test_more_work_of_the_cores_costs_cycles_where_they_are_slower_than_the_unit():
    sizes = (256, 256, 64)
    order = ("gemm", "gemm_bias", "gemm_bias_relu", "gemm_bias_gelu")
    cycles = [predict(VIRGO, product(VIRGO, sizes), kernel=kernel).cycles for kernel in order]
    assert cycles == sorted(set(cycles))


@pytest.mark.parametrize("sizes", [(300, 200, 400), (64, 512, 64), (700, 16, 900)], ids=str)
@pytest.mark.parametrize("preset", ["virgo", "tiny", "virgo_fp32"])
def test_tiles_of_c_are_behind_the_operands(preset, sizes):
    config = PRESETS[preset]
    m, n, k = sizes
    steps = list(program_steps(config, product(config, sizes), is_finished=True))
    assert sum(step.m * step.n * step.depth for step in steps) == m * n * k
    tiles = program_tiles(config, is_finished=True)
    assert tiles.k == command_depth(config, is_finished=True)
    unit = config.units[0]
    c_bytes = tiles.m * tiles.n * unit.wide_bytes
    assert tiles.a_room + tiles.b_room + c_bytes == config.shared.size
    for step in steps:
        assert step.a + tiles.a_bytes <= tiles.a_room <= step.b
        assert step.b + tiles.b_bytes <= tiles.a_room + tiles.b_room


def refused(config, kernel, memory=None):
    with pytest.raises(UserError) as caught:
        predict(config, product(config, (16, 16, 16)), memory, kernel=kernel)
    return str(caught.value)


def test_other_machines_memories_and_kernels_are_refused():
    assert (
        refused(replace(VIRGO, cores=2), "gemm_bias")
        == "the analytic model of gemm_bias needs the preset virgo without changes"
    )
    assert "needs the default timing of DRAM" in refused(VIRGO, "gemm_add", DramConfig(latency=50))
    assert "needs a matrix unit, not tensor units" in refused(PRESETS["hopper"], "gemm_bias")
    assert refused(VIRGO, "sgemm") == (
        "the analytic model needs gemm, gemm_pair, gemm_bias, gemm_bias_relu, gemm_add, "
        "gemm_bias_gelu, not sgemm"
    )
