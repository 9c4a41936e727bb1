"""Tests of sums on which published models differ: floors of exponents, and groups that are zero.

Each is computed on the golden model; one of each kind also in RTL.
"""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.dot_product import DotProduct
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from support.vectors import evaluate

HALF = {"addend": "fp16", "result": "fp16"}
FP4 = {"a": "fp4_e2m1", "b": "fp4_e2m1"}
ZERO_HALF = 0x0000
LEAST_HALF = 0x0001


def rtl(config, **inputs):
    """Return the result of one vector in RTL."""
    return evaluate(DotProduct(config), inputs, latency=dot_product_latency(config))["o"].item()


def products(config, pairs, c=0):
    """Return the operands of one sum of stored `pairs`."""
    a, b = np.zeros((2, 1, config.terms), np.uint32)
    for column, pair in enumerate(pairs):
        a[0, column], b[0, column] = pair
    return {"a": a, "b": b, "c": np.array([c], np.uint32)}


def half(exponent):
    """Return a power of two as FP16."""
    return exponent + 15 << 10 if exponent >= -14 else 1 << exponent + 24


#: Floor of FP16 results by numerics, as published.
FLOORS = {
    "nvidia(volta)": -19,
    "nvidia(turing)": -126,
    "nvidia(turing_chunk4)": -126,
    "nvidia(ampere)": -20,
    "nvidia(ada)": -20,
    "nvidia(hopper)": -21,
    "nvidia(blackwell)": -21,
}


@pytest.mark.parametrize("numerics", FLOORS)
def test_floor_of_fp16_results(numerics):
    """Beside a tie, a product is lost unless it is within F bits of the floor."""
    config = DotProductConfig(terms=8, numerics=numerics, **HALF)
    assert config.alignment_floor == FLOORS[numerics]
    assert replace(config, addend="fp32", result="fp32").alignment_floor == -126
    last = max(FLOORS[numerics], -25) - config.fused.fraction_width
    for exponent in range(-48, -40):
        pairs = [(half(-12), half(-13)), (half(-24), half(exponent + 24))]
        result = dot_product(config, **products(config, pairs)).item()
        assert result == (LEAST_HALF if exponent >= last else ZERO_HALF), exponent


def test_floor_in_the_published_example():
    """Ampere: 2**-25 + 2**-48 is just above a tie, unless a floor truncates the second term."""
    ampere = DotProductConfig(terms=8, numerics="nvidia(ampere)", **HALF)
    inputs = products(ampere, [(0x0C00, 0x0800), (0x0001, 0x0001)])
    assert dot_product(ampere, **inputs).tolist() == [ZERO_HALF]
    assert dot_product(replace(ampere, floor=-126), **inputs).tolist() == [LEAST_HALF]
    assert rtl(ampere, **inputs) == ZERO_HALF
    assert rtl(replace(ampere, floor=-126), **inputs) == LEAST_HALF


def test_a_floor_changes_sums_above_itself():
    """Four products of 2**-127 are 2**-125, a normal number; -2**-151 is within 24 bits of them."""
    config = DotProductConfig(terms=8, numerics="nvidia(ampere)", a="bf16", b="bf16")
    quarter, small = (0x2000, 0x1F80), (0x1A00, 0x9980)
    inputs = products(config, [quarter] * 4 + [small])
    assert dot_product(config, **inputs).tolist() == [0x0100_0000]
    assert dot_product(replace(config, floor=-132), **inputs).tolist() == [0x00FF_FFFF]


def scaled(config, scales, c):
    """Return operands of zeros with pairs of scales by block."""
    inputs = products(config, [], c)
    for name, values in zip(("a_scale", "b_scale"), scales, strict=True):
        inputs[name] = np.array([(list(values) * 4)[: config.scales]], np.uint32)
    return inputs


ONE, ABOVE_ONE = 0x3F80_0000, 0x3F80_0001


@pytest.mark.parametrize("terms", [32, 64])
def test_a_zero_group_has_the_exponent_of_its_scales(terms):
    """Scales of 448 have the exponent 16: with 35 bits below it, 2**-23 beside 1 is lost."""
    config = DotProductConfig(terms=terms, numerics="nvidia(blackwell)", scale="ue4m3", **FP4)
    inputs = scaled(config, [(0x7E, 0x38)] * 2, ABOVE_ONE)
    assert dot_product(config, **inputs).tolist() == [ONE]
    dropped = replace(config, zero_groups=False)
    assert dot_product(dropped, **inputs).tolist() == [ABOVE_ONE]
    if terms == 32:
        assert rtl(config, **inputs) == ONE
        assert rtl(dropped, **inputs) == ABOVE_ONE


@pytest.mark.parametrize("zero_groups", [True, False])
def test_a_group_whose_scale_is_zero_has_no_exponent(zero_groups):
    config = DotProductConfig(
        terms=32, numerics="nvidia(blackwell)", scale="ue4m3", zero_groups=zero_groups, **FP4
    )
    inputs = scaled(config, [(0x00, 0x38), (0x7E, 0x38)], ABOVE_ONE)
    assert dot_product(config, **inputs).tolist() == [ABOVE_ONE]


@pytest.mark.parametrize(("scale", "block"), [("e8m0", 16), ("e8m0", 32), ("ue4m3", 32)])
def test_every_block_has_its_own_scale(scale, block):
    """Each block has one product of 1; its scales are powers of two that do not overlap."""
    config = DotProductConfig(
        terms=64, numerics="nvidia(blackwell)", scale=scale, block=block, **FP4
    )
    one, bias, shift = 0b0010, config.scale_format.bias, config.scale_format.fraction_width
    inputs = products(config, [])
    inputs["a"][0, ::block] = inputs["b"][0, ::block] = one
    places = np.arange(64 // block)
    inputs["a_scale"] = (places + bias << shift)[None]
    inputs["b_scale"] = np.full((1, len(places)), bias << shift)
    result = dot_product(config, **inputs).view(np.float32).item()
    assert result == sum(2.0**place for place in places)


def test_separate_addends_of_two_instructions():
    """1, rounded to FP16 after each instruction of 32 products: 2**-11 twice is lost twice."""
    config = DotProductConfig(
        terms=64, numerics="nvidia(b200_mma_sync)", a="fp8_e5m2", b="fp8_e5m2", **HALF
    )
    small = (0x24, 0x28)  # 2**-6, 2**-5
    one = 0x3C00
    inputs = products(config, [small], one)
    inputs["a"][0, 32], inputs["b"][0, 32] = small
    assert dot_product(config, **inputs).tolist() == [one]
    inputs["a"][0, 33], inputs["b"][0, 33] = small
    # The second instruction's sum is 2**-10, the last place of 1.
    assert dot_product(config, **inputs).tolist() == [one + 1]
