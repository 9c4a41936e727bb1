"""Tests of fused dot products in RTL against their golden model, and of configs."""

from dataclasses import replace

import numpy as np
import pytest

from bench.units.dot_product import CONFIGS
from bench.units.operands.dot_product import dot_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.dot_product import DotProduct
from spica.hw.arith.dot_product.fused_sizes import FusedSizes
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.hw.config.formats import FORMATS
from spica.sim.engine.testbench import require_no_loop
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from spica.synth.measure import measure
from support.vectors import evaluate, require_equal

# All variants of pipelining, rounding, scaling and chaining.
SIMULATED = {
    "volta": CONFIGS["dot_volta_fp16_4"],
    "volta_half": CONFIGS["dot_volta_fp16_4_half"],
    "ampere_bf16": DotProductConfig(terms=4, numerics="nvidia(ampere)", a="bf16", b="bf16"),
    "ampere_tf32_chained": DotProductConfig(terms=8, numerics="nvidia(ampere)", a="tf32", b="tf32"),
    "ampere_low_floor": CONFIGS["dot_ampere_bf16_4_low_floor"],
    "ampere_high_floor": DotProductConfig(
        terms=4, numerics="nvidia(ampere)", addend="fp16", result="fp16", floor=-20
    ),
    "turing_chunk4_chained_half": DotProductConfig(
        terms=8, numerics="nvidia(turing_chunk4)", addend="fp16"
    ),
    "ada_fp8": DotProductConfig(terms=4, numerics="nvidia(ada)", a="fp8_e4m3", b="fp8_e5m2"),
    "blackwell_fp6_fp4": DotProductConfig(
        terms=8, numerics="nvidia(blackwell)", a="fp6_e3m2", b="fp4_e2m1"
    ),
    "blackwell_mxfp8": CONFIGS["dot_blackwell_mxfp8_32"],
    "blackwell_mxfp4": CONFIGS["dot_blackwell_mxfp4_32"],
    "blackwell_nvfp4": replace(CONFIGS["dot_blackwell_nvfp4_32"], terms=16),
    "blackwell_mxfp4_chained": DotProductConfig(
        terms=64, numerics="nvidia(blackwell_mxf8f6f4)", scale="e8m0", a="fp4_e2m1", b="fp4_e2m1"
    ),
    "mma_sync": replace(CONFIGS["dot_b200_mma_sync_fp8_32"], terms=4),
    "mma_sync_half": replace(CONFIGS["dot_b200_mma_sync_fp8_64_half"], terms=8),
}
INPUTS = ("a", "b", "c", "a_scale", "b_scale")


def run(dut, operands):
    """Return the outputs of `dut` for one vector per cycle."""
    inputs = {name: operands[name] for name in INPUTS if name in operands}
    return evaluate(dut, inputs, latency=dot_product_latency(dut.config))["o"]


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.quick(1)
def test_hardware_matches_golden_model(name):
    config = SIMULATED[name]
    dut = require_no_loop(DotProduct(config))
    operands = dot_operands(config, np.random.default_rng(len(name)), 250)
    require_equal(run(dut, operands), dot_product(config, **operands), **operands)


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        *(("volta", 3), ("ampere_tf32_chained", 6), ("blackwell_mxfp8", 4), ("blackwell_nvfp4", 4)),
        *(("mma_sync", 5), ("mma_sync_half", 7)),
    ],
)
@pytest.mark.quick(2)
def test_latency(name, cycles):
    config = SIMULATED[name]
    assert dot_product_latency(config) == cycles
    operands = {
        "a": np.zeros((12, config.terms), np.uint32),
        "b": np.zeros((12, config.terms), np.uint32),
        "c": np.zeros(12, np.uint32),
    }
    # A NaN among zeros, once at each input.
    operands["c"][3] = FORMATS[config.addend].nan
    if config.a_format.has_nan:
        operands["a"][7, -1] = config.a_format.nan
    for name in ("a_scale", "b_scale") if config.scale else ():
        operands[name] = np.ones((12, config.scales), np.uint32)
        operands[name][7] = config.scale_format.nan
    assert np.nonzero(run(DotProduct(config), operands))[0].tolist() == [3, 7]


def test_more_or_wider_exponents_take_a_stage_more():
    blackwell = DotProductConfig(terms=16, numerics="nvidia(blackwell)")
    assert FusedSizes(dot=blackwell).latency == 3
    assert FusedSizes(dot=replace(blackwell, a="bf16", b="bf16")).latency == 4


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("dot_volta_fp16_4", 29),
        ("dot_turing_fp16_8", 31),
        ("dot_hopper_fp16_16", 33),
        ("dot_hopper_fp8_32", 22),
        ("dot_blackwell_fp8_32", 34),
        ("dot_blackwell_nvfp4_32", 50),
    ],
)
def test_width_of_the_sum(name, width):
    """A sign, two integer bits, the kept fraction, and the carries of all terms."""
    assert FusedSizes(dot=CONFIGS[name]).total_width == width


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numerics": "nvidia(pascal)"}, r"numerics must be one of .*volta.*, not 'nvidia\(pascal"),
        ({"terms": 5}, "terms must be one of 2, 4, 8, 16, 32, 64, not 5"),
        ({"block": 16}, "block must be None without scales, not 16"),
        (
            {
                "numerics": "nvidia(blackwell)",
                "a": "fp4_e2m1",
                "b": "fp4_e2m1",
                "scale": "e8m0",
                "block": 64,
            },
            "not fp4_e2m1 and fp4_e2m1 with scales e8m0 per 64 ",
        ),
        (
            {
                "numerics": "nvidia(b200_mma_sync)",
                "a": "fp8_e4m3",
                "b": "fp8_e4m3",
                "addend": "fp16",
            },
            "fp16 to fp16.*fp32 to fp32.*not fp8_e4m3 and fp8_e4m3 .fp16 to fp32",
        ),
        ({"floor": 1}, "floor must be between -140 and 0, not 1"),
        (
            {"a": "bf16", "b": "bf16"},
            r"formats must be among those of nvidia\(volta\), fp16 \(fp32 to fp32 or fp16 to "
            r"fp16 or fp16 to fp32\), not bf16 and bf16 \(fp32 to fp32\)",
        ),
        ({"numerics": "nvidia(ampere)", "a": "bf16"}, "not bf16 and fp16 "),
        ({"result": "fp16"}, r"not fp16 and fp16 \(fp32 to fp16\)"),
        (
            {"numerics": "nvidia(hopper)", "a": "fp8_e4m3", "b": "fp4_e2m1"},
            "fp8_e5m2 or fp8_e4m3 .*not fp8_e4m3 and fp4_e2m1 ",
        ),
        (
            {"numerics": "nvidia(blackwell)", "a": "fp8_e4m3", "b": "fp8_e4m3", "scale": "ue4m3"},
            "fp4_e2m1 with scales ue4m3 per 16 .*not fp8_e4m3 and fp8_e4m3 with scales ue4m3",
        ),
        (
            {
                "numerics": "nvidia(blackwell)",
                "a": "fp6_e3m2",
                "b": "fp4_e2m1",
                "scale": "e8m0",
                "terms": 16,
            },
            "terms must be at least a block of e8m0, 32, not 16",
        ),
    ],
)
def test_bad_config_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DotProductConfig(**{"terms": 4, "numerics": "nvidia(volta)"} | options)


def test_products_alternate_in_pairs_between_two_sums():
    config = CONFIGS["dot_b200_mma_sync_fp8_64_half"]
    first, second, third, fourth = config.chunk_columns
    assert first == tuple(k for k in range(32) if k % 4 < 2)
    assert second == tuple(k for k in range(32) if k % 4 >= 2)
    assert third == tuple(k + 32 for k in first) and fourth == tuple(k + 32 for k in second)
    assert config.chunks_per_addend == 2
    # A shorter sum has zeros in place of the other products.
    assert replace(config, terms=8).chunk_columns == ((0, 1, 4, 5), (2, 3, 6, 7))
    assert replace(config, terms=2).chunk_columns == ((0, 1),)
    chained = replace(CONFIGS["dot_ada_fp8_16"], terms=32)
    assert chained.chunk_columns == (tuple(range(16)), tuple(range(16, 32)))


def test_scaled_fp4_is_of_its_own_kind_unless_named_otherwise():
    fp4 = {"terms": 32, "a": "fp4_e2m1", "b": "fp4_e2m1", "scale": "e8m0"}
    assert DotProductConfig(numerics="nvidia(blackwell)", **fp4).fused.fraction_width == 35
    mixed = DotProductConfig(numerics="nvidia(blackwell_mxf8f6f4)", **fp4)
    assert mixed.fused.fraction_width == 25


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_depth_between_registers(name):
    assert measure(DotProduct(CONFIGS[name]), name).depth <= 60
