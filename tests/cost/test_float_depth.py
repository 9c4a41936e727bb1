"""Tests of the cost of arithmetic: logic depth and word-level cells."""

import pytest

from spica.hw.arith.float.add import Add, AddConfig
from spica.hw.arith.float.convert import Convert, ConvertConfig
from spica.hw.arith.float.multiply import Multiply, MultiplyConfig
from spica.hw.arith.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig
from spica.hw.config.formats import FP16
from spica.synth.measure import measure

DEPTH = 60


@pytest.mark.parametrize(
    ("make", "name", "cells"),
    [
        (lambda: MultiplyAdd(MultiplyAddConfig(latency=2)), "multiply_add", 80),
        (
            lambda: MultiplyAdd(MultiplyAddConfig(operand="int8", accumulator="int32")),
            "multiply_add_int8",
            5,
        ),
        (lambda: Add(AddConfig(latency=2)), "add", 95),
        (lambda: Multiply(MultiplyConfig(latency=4)), "multiply", 120),
        (lambda: Multiply(MultiplyConfig(latency=5)), "multiply", 120),
        (lambda: Convert(ConvertConfig()), "convert", 30),
        (lambda: Unpack(UnpackConfig(form=FP16)), "unpack", 25),
    ],
)
@pytest.mark.quick(2)
def test_depth_and_cells(make, name, cells):
    measurement = measure(make(), name)
    assert measurement.depth <= DEPTH
    assert measurement.cells <= cells
