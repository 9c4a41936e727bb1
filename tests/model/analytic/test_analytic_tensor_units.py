"""Tests of the work of `gemm` on tensor units against RTL."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.gemm.tensor.plan import tensor_plan
from spica.sim.analytic.gemm import predict, traffic_of
from spica.sim.analytic.register_fed_tiles import program_rounds
from support.prediction import measured, product, require_prediction

AMPERE, VOLTA, FP32, HOPPER = (
    PRESETS[name] for name in ("ampere", "volta", "ampere_fp32", "hopper")
)
SIZES = (
    *((128, 64, 64), (16, 16, 16), (64, 128, 64), (128, 128, 128), (33, 17, 65), (100, 60, 90)),
    *((192, 192, 192), (128, 256, 80), (1, 1, 1), (64, 256, 128), (255, 255, 255)),
)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("preset", ["ampere", "volta", "ampere_fp32", "hopper"])
def test_work_is_exact(preset, sizes):
    config = PRESETS[preset]
    found = predict(config, product(config, sizes))
    require_prediction(config, found, measured(config, sizes))


@pytest.mark.parametrize("config", [AMPERE, VOLTA, FP32], ids=["ampere", "volta", "ampere_fp32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rounds_cover_the_padded_product_once(config, sizes):
    plan, (m, n, k) = tensor_plan(config), sizes
    rounds = program_rounds(plan, product(config, sizes))
    padded = -(-m // plan.m) * plan.m * (-(-n // plan.n) * plan.n) * -(-k // plan.depth)
    assert sum(rounds) * plan.m * plan.n == padded
    unit = config.tensor_units
    traffic = traffic_of(config, product(config, sizes))
    assert traffic.products * unit.rows * 8 == padded
    assert traffic.active == traffic.products * unit.steps


def test_operands_enter_shared_memory_once():
    """The DMA copies fragments of whole panels; cores copy whole tiles, and the last one twice."""
    found = traffic_of(AMPERE, product(AMPERE, (256, 128, 96)))
    assert found.dma_read_bytes == (256 * 2 + 128 * 2) * 96 * 2
    assert found.shared_written_bytes == {"rows": 0}
    found = traffic_of(VOLTA, product(VOLTA, (256, 128, 96)))
    assert found.dma_read_bytes == 0
    assert found.shared_written_bytes == {"rows": (4 * 2 + 1) * (128 + 64) * 64 * 2}


def test_products_and_bytes_of_whole_tiles():
    for config, macs in ((AMPERE, 256), (VOLTA, 256), (FP32, 64), (HOPPER, 256)):
        found = predict(config, product(config, (256, 256, 256)))
        assert found.limits["unit"] == 256**3 // macs
    assert sum(traffic_of(AMPERE, product(AMPERE, (256,) * 3)).shared_read_bytes.values()) == (
        6 * 2**20
    )
    found = traffic_of(HOPPER, product(HOPPER, (256,) * 3))
    assert found.products == 16 * 16 * 8
    assert sum(found.shared_read_bytes.values()) == 4 * 2**20
