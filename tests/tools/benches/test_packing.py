"""Tests of packed layouts against Amaranth's own, which are slower."""

import random

import pytest
from amaranth.lib import data

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import issue_layout
from spica.hw.lib.interfaces.execution_unit import operation_layout
from support.packing import Packing

SMALL = data.StructLayout({"a": 3, "b": data.ArrayLayout(5, 2), "c": data.StructLayout({"d": 1})})


def test_places_of_fields():
    value = {"a": 5, "b": [1, 30], "c": {"d": 1}}
    assert Packing(SMALL).pack(value) == SMALL.const(value).as_bits() == 0b1_11110_00001_101
    assert Packing(SMALL).unpack(0b1_11110_00001_101) == value


def test_negative_numbers_and_those_too_wide_are_cut():
    assert Packing(SMALL).pack({"a": -1, "b": [32, 0], "c": {"d": 2}}) == 7


@pytest.mark.parametrize("layout", [issue_layout(CoreConfig()), operation_layout(CoreConfig())])
def test_there_and_back(layout):
    rng = random.Random(1)
    packing = Packing(layout)
    assert packing.width == layout.size
    for _ in range(5):
        number = rng.getrandbits(layout.size)
        value = packing.unpack(number)
        assert packing.pack(value) == number
        assert int(layout.from_bits(number).warp) == value["warp"]


def test_a_missing_field_is_an_error():
    with pytest.raises(KeyError, match="c"):
        Packing(SMALL).pack({"a": 1, "b": [1, 2]})
