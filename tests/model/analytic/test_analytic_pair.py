"""Tests of the analytic model of two products at once against RTL."""

from itertools import pairwise

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.sim.analytic.gemm import predict, traffic_of
from spica.sim.analytic.pair import products_of
from spica.sim.analytic.work import PAIR
from support.prediction import measured, product, require_prediction

HETERO = PRESETS["virgo_hetero"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [(64, 64, 64), (128, 128, 128), (100, 60, 90), (200, 200, 200)], ids=str
)
def test_work_is_exact(sizes):
    found = predict(HETERO, product(HETERO, sizes), kernel=PAIR)
    require_prediction(HETERO, found, measured(HETERO, sizes, name=PAIR))


def test_the_second_product_has_half_of_each_size_and_its_own_place():
    first, second = products_of(HETERO, product(HETERO, (100, 61, 1)))
    assert (second.m, second.n, second.k) == (50, 30, 1)
    ranges = sorted(
        (getattr(each, f"{name}_base"), rows * columns * each.element_bytes(name))
        for each in (first, second)
        for name, (rows, columns, _) in each.shapes.items()
    )
    assert len(ranges) == 6
    for (place, size), (following, _) in pairwise(ranges):
        assert place + size <= following


def test_the_pair_takes_at_least_as_long_as_its_longest_product():
    whole = product(HETERO, (256, 256, 256))
    work = traffic_of(HETERO, whole, kernel=PAIR)
    active = [
        each.macs // unit.macs
        for each, unit in zip(products_of(HETERO, whole), HETERO.units, strict=True)
    ]
    assert work.active == sum(active)
    assert predict(HETERO, whole, kernel=PAIR).limits["unit"] == max(active)


def test_one_unit_is_refused():
    virgo = PRESETS["virgo"]
    with pytest.raises(UserError, match="needs two matrix units and two cores, not 1 and 4"):
        predict(virgo, product(virgo, (64, 64, 64)), kernel=PAIR)
