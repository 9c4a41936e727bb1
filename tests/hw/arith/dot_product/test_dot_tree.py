"""Tests of addition trees: golden model against NumPy, RTL against the golden model."""

import numpy as np
import pytest

from bench.units.operands import floats as operands
from bench.units.tree import CONFIGS, numpy_tree, tree_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.dot_product.latency import dot_product_latency
from spica.hw.arith.dot_product.tree import Tree, tree_plan
from spica.hw.arith.dot_product.tree_add import TreeAdd, TreeAddConfig
from spica.hw.arith.dot_product.tree_product import TreeProduct, TreeProductConfig
from spica.hw.config.formats import (
    BF16,
    E8M0,
    FP4_E2M1,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    TF32,
    UE4M3,
)
from spica.sim.golden.arith.dot_product.tree import tree_dot_product
from spica.sim.golden.arith.float import floats
from spica.synth.measure import measure
from support.vectors import evaluate, require_equal

#: One unit of each kind of arithmetic, small enough for Amaranth's simulator.
SMALL = {
    "virgo_hmma": DotProductConfig(terms=4, numerics="virgo_hmma"),
    "fp16": DotProductConfig(terms=4, numerics="fp32_rne"),
    "bf16": DotProductConfig(terms=4, numerics="fp32_rne", a="bf16", b="bf16"),
    "fp32": DotProductConfig(terms=4, numerics="fp32_rne", a="fp32", b="fp32"),
    "fp8": DotProductConfig(terms=4, numerics="fp32_rne", a="fp8_e4m3", b="fp8_e5m2"),
}
ONE16, ONE32 = 0x3C00, 0x3F80_0000


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.quick(1)
def test_golden_model_is_numpy(name):
    """NumPy's float16 and float32 round correctly, as do the definition's three steps."""
    config = CONFIGS[name]
    inputs = tree_operands(config, np.random.default_rng(0), 100_000)
    results = tree_dot_product(config, **inputs)
    require_equal(results, numpy_tree(config, **inputs)["o"], **inputs)
    exponents = results >> 23 & 0xFF
    assert len(np.unique(exponents)) > 100, "operands reach few exponents"
    assert (results == FP32.nan).mean() < 0.4


def probes(config):
    """Return vectors by name; their positions in the results give the latency and c's delay."""
    ones = [form.bias << form.fraction_width for form in (config.a_format, config.b_format)]
    a, b = (np.full((8, config.terms), one, np.uint32) for one in ones)
    a[:3] = a[4:] = 0
    # A subnormal addend survives a sum of zero, however large the products are.
    c = np.array([0, 0, 0, 0, 0, ONE32, 3, 0x8000_0000], np.uint32)
    return {"a": a, "b": b, "c": c}, [0, 0, 0, ONE32 + (2 << 23), 0, ONE32, 3, 0]


@pytest.mark.parametrize("name", ["virgo_hmma", "fp16", "fp8"])
@pytest.mark.quick(1)
def test_tree_gives_what_its_golden_model_gives(name):
    config = SMALL[name]
    vectors = tree_operands(config, np.random.default_rng(1), 250)
    probe, stated = probes(config)
    inputs = {port: np.concatenate([probe[port], vectors[port]]) for port in probe}
    results = evaluate(Tree(config), inputs, latency=dot_product_latency(config))["o"]
    assert results[: len(stated)].tolist() == stated
    require_equal(results, tree_dot_product(config, **inputs), **inputs)


@pytest.mark.parametrize(
    ("form", "latency", "overflows", "subnormals", "width"),
    [
        (FP16, 1, True, True, 0),
        (FP16, 2, True, True, 0),
        (FP32, 2, True, True, 0),
        (FP32, 2, False, True, 0),
        (FP32, 2, True, True, 16),
        (FP32, 1, False, False, 8),
    ],
)
@pytest.mark.quick(2)
def test_adder(form, latency, overflows, subnormals, width):
    """If overflow or subnormals are impossible, operands have neither."""
    config = TreeAddConfig(
        form=form,
        latency=latency,
        overflows=overflows,
        subnormals=subnormals,
        addend_width=width,
    )
    a, b = operands.add_operands(np.random.default_rng(3), 3000, form)
    lowest = form.significand_width - (width or form.significand_width)
    a, b = (x >> np.uint32(lowest) << np.uint32(lowest) for x in (a, b))
    expected = floats.add(a, b, form)
    everything = np.array([a, b, expected])
    fields = everything >> form.fraction_width & form.exponent_mask
    possible = np.ones(len(a), bool)
    if not subnormals:
        possible &= ((fields > 0) | (everything << np.uint32(33 - form.width) == 0)).all(axis=0)
    if not overflows:
        possible &= (fields[2] < form.exponent_mask) | (fields[:2] == form.exponent_mask).any(
            axis=0
        )
    a, b, expected = a[possible][:300], b[possible][:300], expected[possible][:300]
    assert len(a) == 300
    results = evaluate(TreeAdd(config), {"a": a, "b": b}, latency=latency)["o"]
    require_equal(results, expected, a=a, b=b)


@pytest.mark.parametrize(
    ("a_form", "b_form", "form"),
    [
        (FP16, FP16, FP16),
        (BF16, BF16, FP32),
        (TF32, TF32, FP32),
        (FP16, FP16, FP32),
        (FP8_E4M3, FP8_E5M2, FP32),
        (FP4_E2M1, FP8_E5M2, FP32),
        (FP32, FP32, FP32),
    ],
    ids=lambda form: form.name,
)
@pytest.mark.quick(3)
def test_product(a_form, b_form, form):
    config = TreeProductConfig(a=a_form, b=b_form, form=form)
    rng = np.random.default_rng(4)
    if a_form == b_form:
        a, b = operands.multiply_operands(rng, 600, a_form)
    else:
        a, b = (operands.random_bits(rng, form_of_side, 300) for form_of_side in (a_form, b_form))
    with np.errstate(invalid="ignore"):
        expected = floats.encode(floats.decode(a, a_form) * floats.decode(b, b_form), form)
    results = evaluate(TreeProduct(config), {"a": a, "b": b}, latency=config.latency)["o"]
    require_equal(results, expected, a=a, b=b)


def test_order_of_the_tree_is_that_of_neighbours():
    """(2**11 + 1) + (1 + 0) is rounded twice, (2**11 + 0) + (1 + 1) is exact."""
    config = SMALL["virgo_hmma"]
    large, zero = 0x6800, 0  # 2**11
    rows = np.array([[large, ONE16, ONE16, zero], [large, zero, ONE16, ONE16]], np.uint32)
    results = tree_dot_product(config, rows, np.full((2, 4), ONE16), np.zeros(2, np.uint32))
    assert floats.decode(results, FP32).tolist() == [2048, 2050]


@pytest.mark.parametrize(
    ("name", "latency"), [("virgo_hmma", 6), ("fp16", 7), ("bf16", 7), ("fp8", 7)]
)
def test_latency_is_that_of_the_levels(name, latency):
    config = SMALL[name]
    assert dot_product_latency(config) == latency
    longer = DotProductConfig(**{**vars(config), "terms": 32})
    step_latency = 1 if name == "virgo_hmma" else 2
    assert dot_product_latency(longer) == latency + 3 * step_latency


@pytest.mark.full
def test_adders_of_exact_products_cost_less():
    """Levels of exact products neither overflow nor become subnormal, and start narrow."""
    first, second = tree_plan(SMALL["fp8"]).sums
    assert (first.addend_width, second.addend_width) == (7, 0)
    assert not (first.overflows or first.subnormals)
    general = TreeAddConfig(form=FP32)
    costs = [measure(TreeAdd(config), "add").nand2 for config in (first, second, general)]
    assert costs == sorted(costs) and costs[0] < 0.8 * costs[2]


@pytest.mark.parametrize("name", ["virgo_hmma", "fp16", "bf16"])
@pytest.mark.full
def test_depth(name):
    assert measure(Tree(SMALL[name]), name).depth <= 60


@pytest.mark.full
def test_depth_of_wide_products():
    assert measure(TreeProduct(TreeProductConfig(a=FP32, b=FP32)), "product").depth <= 60


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TreeAddConfig(latency=3), "latency must be between 1 and 2, not 3"),
        (lambda: TreeAddConfig(addend_width=25), "addend_width must be between 0 and 24, not 25"),
        (
            lambda: TreeAddConfig(form=FP8_E4M3),
            "form must have signs and infinities, not fp8_e4m3",
        ),
        (
            lambda: TreeProductConfig(form=E8M0),
            "form must have signs and infinities, not e8m0",
        ),
        (
            lambda: TreeProductConfig(b=UE4M3),
            "b must have signs and subnormals, not ue4m3",
        ),
        (
            lambda: TreeProductConfig(a=BF16, form=FP16),
            "form must hold products of bf16 and fp16 exactly or have their range, not fp16",
        ),
        (
            lambda: tree_plan(DotProductConfig(terms=4, numerics="nvidia(volta)")),
            r"numerics of a tree must be virgo_hmma or fp32_rne, not nvidia\(volta\)",
        ),
    ],
)
def test_bad_config_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
