"""Tests of the analytic model of products whose cores finish C against RTL."""

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.gemm.tiles import program_tiles
from spica.sim.analytic.finished import KERNELS
from spica.sim.analytic.gemm import predict, traffic_of
from spica.sim.analytic.program_steps import program_steps
from spica.sim.analytic.work import CORES
from support.prediction import measured, product, require_prediction

TINY, VIRGO = PRESETS["tiny"], PRESETS["virgo"]
FORMATS = ("fp16", "fp32")


@pytest.mark.parametrize("c_format", FORMATS)
@pytest.mark.parametrize("kernel", ["gemm_bias", "gemm_add"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (32, 16, 32), (40, 70, 50)], ids=str)
@pytest.mark.full
def test_work_is_exact_on_a_small_machine(kernel, sizes, c_format):
    found = predict(TINY, product(TINY, sizes, c_format=c_format), kernel=kernel)
    require_prediction(TINY, found, measured(TINY, sizes, name=kernel, c_format=c_format))


@pytest.mark.slow
@pytest.mark.parametrize("c_format", FORMATS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sizes", [(192, 192, 192), (96, 96, 96), (33, 64, 64)], ids=str)
def test_work_is_exact(kernel, sizes, c_format):
    found = predict(VIRGO, product(VIRGO, sizes, c_format=c_format), kernel=kernel)
    require_prediction(VIRGO, found, measured(VIRGO, sizes, name=kernel, c_format=c_format))


def test_cores_read_every_element_once():
    found = traffic_of(VIRGO, product(VIRGO, (256, 128, 64)), kernel="gemm_add")
    assert found.shared_read_bytes[CORES] == 4 * 256 * 128
    assert found.dma_written_bytes == 0


@pytest.mark.parametrize("sizes", [(300, 200, 400), (64, 512, 64), (700, 16, 900)], ids=str)
@pytest.mark.parametrize("preset", ["virgo", "tiny", "virgo_fp32"])
def test_tiles_of_c_are_behind_the_operands(preset, sizes):
    config = PRESETS[preset]
    m, n, k = sizes
    steps = list(program_steps(config, product(config, sizes), is_finished=True))
    assert sum(step.m * step.n * step.depth for step in steps) == m * n * k
    tiles = program_tiles(config, is_finished=True)
    unit = config.units[0]
    c_bytes = tiles.m * tiles.n * unit.wide_bytes
    assert tiles.a_room + tiles.b_room + c_bytes == config.shared.size
    for step in steps:
        assert step.a + tiles.a_bytes <= tiles.a_room <= step.b
        assert step.b + tiles.b_bytes <= tiles.a_room + tiles.b_room


def test_other_machines_and_kernels_are_refused():
    hopper = PRESETS["hopper"]
    with pytest.raises(UserError, match="needs a matrix unit, not tensor units"):
        predict(hopper, product(hopper, (16, 16, 16)), kernel="gemm_bias")
    with pytest.raises(UserError, match="gemm_bias_gelu, gemm_add, not sgemm"):
        predict(VIRGO, product(VIRGO, (16, 16, 16)), kernel="sgemm")
