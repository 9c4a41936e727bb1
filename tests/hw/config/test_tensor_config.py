"""Tests of the config of tensor instructions: shapes by numerics, and refused combinations."""

from dataclasses import replace

import pytest

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.hw.config import CoreConfig
from spica.hw.config.numerics import NUMERICS
from spica.hw.config.tensor import TENSOR_NUMERICS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig

ALL = [
    RegisterFedConfig(numerics=numerics, operand=operand)
    for numerics, operands in TENSOR_NUMERICS.items()
    for operand in operands
]
#: Multiply-adds per cycle and depth by bits of a number.
RATES = {32: (16, 8), 16: (32, 16), 8: (64, 32)}


def test_every_generation_has_its_formats():
    names = set(NUMERICS) - {"nvidia(blackwell_mxf8f6f4)", "nvidia(b200_mma_sync)"}
    assert set(TENSOR_NUMERICS) == names
    assert TENSOR_NUMERICS["virgo_hmma"] == ("fp16",)
    assert TENSOR_NUMERICS["fp32_rne"] == ("fp32",)
    assert TENSOR_NUMERICS["nvidia(volta)"] == ("fp16",)
    assert TENSOR_NUMERICS["nvidia(ampere)"] == ("fp16", "bf16", "tf32")
    wide = {"fp16", "bf16", "tf32", "fp8_e4m3", "fp8_e5m2"}
    assert {*TENSOR_NUMERICS["nvidia(hopper)"]} == {*TENSOR_NUMERICS["nvidia(blackwell)"]} == wide


@pytest.mark.parametrize("tensor", ALL, ids=str)
def test_shapes(tensor):
    dot = DotProductConfig.of(tensor)
    assert (tensor.macs, tensor.depth) == RATES[tensor.operand_width]
    assert tensor.depth == tensor.sets * tensor.terms
    assert tensor.dot_products * tensor.step_words == 16
    assert 8 * 8 * tensor.depth == 32 * tensor.macs
    # One rounding per step, and its result is there before the next step on the accumulator.
    assert dot.is_tree or dot.chunks == 1
    assert tensor.sets == 1 or dot_product_latency(dot) + 2 <= 4 * tensor.step_words


@pytest.mark.parametrize("tensor", ALL, ids=str)
def test_shapes_of_products_with_operands_in_shared_memory(tensor):
    """Twice the rows, columns, depth and dot products of ``hmma``."""
    tile = SharedFedConfig(numerics=tensor.numerics, operand=tensor.operand)
    assert DotProductConfig.of(tile) == DotProductConfig.of(tensor)
    assert (tile.side, tile.registers, tile.operand_bytes) == (16, 32, 1024)
    assert (tile.macs, tile.depth, tile.steps) == (2 * tensor.macs, 2 * tensor.depth, 128)
    assert tile.side * tile.side * tile.depth == tile.steps * tile.macs
    assert tile.dot_products * tile.column_groups == 16
    # A result is there before its number of C is used again.
    assert dot_product_latency(DotProductConfig.of(tile)) + 2 < 16


@pytest.mark.parametrize("tensor", ALL, ids=str)
def test_shapes_of_warps_of_32_threads(tensor):
    """Twice the rows take twice the cycles: the dot products are the same."""
    wide = replace(tensor, threads=32)
    assert (wide.rows, wide.registers, wide.b_registers, wide.depth) == (16, 4, 2, tensor.depth)
    assert (wide.macs, wide.sets, wide.steps) == (tensor.macs, tensor.sets, 64)
    assert DotProductConfig.of(wide) == DotProductConfig.of(tensor)
    assert wide.rows * 8 * wide.depth == wide.steps * wide.macs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numerics": "nvidia(pascal)"}, r"numerics must be one of .*volta"),
        ({"numerics": "nvidia(blackwell_mxf8f6f4)"}, "numerics must be one of"),
        (
            {"numerics": "nvidia(volta)", "operand": "bf16"},
            r"operand of tensor instructions with nvidia\(volta\) must be one of fp16, not 'bf16'",
        ),
        ({"numerics": "fp32_rne", "operand": "fp16"}, "must be one of fp32, not 'fp16'"),
        ({"numerics": "nvidia(blackwell)", "operand": "fp4_e2m1"}, "not 'fp4_e2m1'"),
    ],
)
def test_refused_numerics(options, message):
    with pytest.raises(ValueError, match=message):
        RegisterFedConfig(**options)


def test_refused_cores():
    with pytest.raises(ValueError, match="threads must be 8 or 32 with hmma, not 4"):
        CoreConfig(tensor=RegisterFedConfig(), threads=4)
    with pytest.raises(ValueError, match="threads must be 8 with hgmma, not 32"):
        CoreConfig(tensor=SharedFedConfig(), threads=32)
    with pytest.raises(ValueError, match="operand of tensor instructions with fp32_rne"):
        RegisterFedConfig(numerics="fp32_rne")
    with pytest.raises(TypeError, match="tensor must be a TensorUnitConfig or None, not 'hmma'"):
        CoreConfig(tensor="hmma")


def test_refused_layouts():
    with pytest.raises(ValueError, match="layout must be one of dense, swizzle128, not"):
        SharedFedConfig(layout="wide")
    fp8 = {"numerics": "nvidia(hopper)", "operand": "fp8_e4m3"}
    with pytest.raises(ValueError, match=r"operands of 16 or 32 bits.*not fp8_e4m3"):
        SharedFedConfig(layout="swizzle128", **fp8)
    SharedFedConfig(**fp8)
