"""Tests of the analytic model of products: finished by cores, two at once, on tensor units."""

from itertools import pairwise

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.gemm.register_fed.plan import register_fed_plan
from spica.sim.analytic.gemm import predict, traffic_of
from spica.sim.analytic.pair import products_of
from spica.sim.analytic.register_fed.tiles import program_rounds
from spica.sim.analytic.work import CORES, PAIR
from spica.sim.analytic.work import FINISHED as KERNELS
from support.prediction import measured, product, require_prediction

TENSOR_UNITS = ("ampere", "volta", "ampere_fp32", "hopper")
TINY, VIRGO, HETERO = (PRESETS[name] for name in ("tiny", "virgo", "virgo_hetero"))
AMPERE, VOLTA, FP32, HOPPER = (PRESETS[name] for name in TENSOR_UNITS)
FORMATS = ("fp16", "fp32")
SIZES = (
    *((128, 64, 64), (16, 16, 16), (64, 128, 64), (128, 128, 128), (33, 17, 65), (100, 60, 90)),
    *((192, 192, 192), (128, 256, 80), (1, 1, 1), (64, 256, 128), (255, 255, 255)),
)


@pytest.mark.parametrize("c_format", FORMATS)
@pytest.mark.parametrize("kernel", ["gemm_bias", "gemm_add"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (32, 16, 32), (40, 70, 50)], ids=str)
@pytest.mark.full
def test_work_is_exact_on_a_small_machine(kernel, sizes, c_format):
    prediction = predict(TINY, product(TINY, sizes, c_format=c_format), kernel=kernel)
    require_prediction(TINY, prediction, measured(TINY, sizes, name=kernel, c_format=c_format))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "kernel", "sizes", "options"),
    [
        *(
            ("virgo", kernel, sizes, {"c_format": c_format})
            for sizes in ((192, 192, 192), (96, 96, 96), (33, 64, 64))
            for kernel in KERNELS
            for c_format in FORMATS
        ),
        *(
            ("virgo_hetero", PAIR, sizes, {})
            for sizes in ((64, 64, 64), (128, 128, 128), (100, 60, 90), (200, 200, 200))
        ),
        *((preset, "gemm", sizes, {}) for preset in TENSOR_UNITS for sizes in SIZES),
    ],
    ids=str,
)
def test_work_is_exact(preset, kernel, sizes, options):
    config = PRESETS[preset]
    prediction = predict(config, product(config, sizes, **options), kernel=kernel)
    require_prediction(config, prediction, measured(config, sizes, name=kernel, **options))


def test_cores_read_every_element_once():
    traffic = traffic_of(VIRGO, product(VIRGO, (256, 128, 64)), kernel="gemm_add")
    assert traffic.shared_read_bytes[CORES] == 4 * 256 * 128
    assert traffic.dma_written_bytes == 0


def test_other_machines_and_kernels_are_refused():
    with pytest.raises(UserError, match="needs a matrix unit, not tensor units"):
        predict(HOPPER, product(HOPPER, (16, 16, 16)), kernel="gemm_bias")
    with pytest.raises(UserError, match="gemm_add, gemm_pair, not sgemm"):
        predict(VIRGO, product(VIRGO, (16, 16, 16)), kernel="sgemm")


def test_the_second_product_has_half_of_each_size_and_its_own_place():
    first, second = products_of(HETERO, product(HETERO, (100, 61, 1)))
    assert (second.m, second.n, second.k) == (50, 30, 1)
    ranges = sorted(
        (getattr(one, f"{name}_base"), rows * columns * one.element_bytes(name))
        for one in (first, second)
        for name, (rows, columns, _) in one.shapes.items()
    )
    assert len(ranges) == 6
    for (place, size), (following, _) in pairwise(ranges):
        assert place + size <= following


def test_the_pair_takes_at_least_as_long_as_its_longest_product():
    whole = product(HETERO, (256, 256, 256))
    work = traffic_of(HETERO, whole, kernel=PAIR)
    active = [
        one.macs // unit.macs
        for one, unit in zip(products_of(HETERO, whole), HETERO.units, strict=True)
    ]
    assert work.active == sum(active)
    assert predict(HETERO, whole, kernel=PAIR).limits["unit"] == max(active)


def test_one_unit_is_refused():
    with pytest.raises(UserError, match="needs two matrix units and two cores, not 1 and 4"):
        predict(VIRGO, product(VIRGO, (64, 64, 64)), kernel=PAIR)


@pytest.mark.parametrize("config", [AMPERE, VOLTA, FP32], ids=["ampere", "volta", "ampere_fp32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rounds_cover_the_padded_product_once(config, sizes):
    plan, (m, n, k) = register_fed_plan(config), sizes
    rounds = program_rounds(plan, product(config, sizes))
    padded = -(-m // plan.m) * plan.m * (-(-n // plan.n) * plan.n) * -(-k // plan.depth)
    assert sum(rounds) * plan.m * plan.n == padded
    unit = config.tensor
    traffic = traffic_of(config, product(config, sizes))
    assert traffic.products * unit.rows * 8 == padded
    assert traffic.active == traffic.products * unit.steps


def test_operands_enter_shared_memory_once():
    """The DMA copies fragments of whole panels; cores copy whole tiles, and the last one twice."""
    traffic = traffic_of(AMPERE, product(AMPERE, (256, 128, 96)))
    assert traffic.dma_read_bytes == (256 * 2 + 128 * 2) * 96 * 2
    assert traffic.shared_written_bytes == {"rows": 0}
    traffic = traffic_of(VOLTA, product(VOLTA, (256, 128, 96)))
    assert traffic.dma_read_bytes == 0
    assert traffic.shared_written_bytes == {"rows": (4 * 2 + 1) * (128 + 64) * 64 * 2}


def test_products_and_bytes_of_whole_tiles():
    for config, macs in ((AMPERE, 256), (VOLTA, 256), (FP32, 64), (HOPPER, 256)):
        prediction = predict(config, product(config, (256, 256, 256)))
        assert prediction.limits["unit"] == 256**3 // macs
    assert sum(traffic_of(AMPERE, product(AMPERE, (256,) * 3)).shared_read_bytes.values()) == (
        6 * 2**20
    )
    prediction = traffic_of(HOPPER, product(HOPPER, (256,) * 3))
    assert prediction.products == 16 * 16 * 8
    assert sum(prediction.shared_read_bytes.values()) == 4 * 2**20
