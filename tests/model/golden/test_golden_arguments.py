"""Tests that golden models and unit benches refuse operands that are not stored bits."""

import numpy as np
import pytest
from amaranth.hdl import Fragment

from bench.units.dot_product import CONFIGS
from bench.units.lanes import ports_of
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.arith.float.fma import Fma, FmaConfig, FmaOperation
from spica.hw.arith.float.rounding import Rounding
from spica.hw.config.formats import FP8_E4M3, FP16, FP32
from spica.hw.isa.operations import DivideOperation, FloatOperation
from spica.sim.golden.arith.dot_product.dot_product import dot_product
from spica.sim.golden.arith.dot_product.tree import tree_dot_product
from spica.sim.golden.arith.float import floats
from spica.sim.golden.arith.float.fma import fma
from spica.sim.golden.arith.special.special_function import special_function
from spica.sim.golden.core.units.float_units import divide_operation, float_operation

FUSED = DotProductConfig(terms=16, numerics="nvidia(hopper)")
TREE = DotProductConfig(terms=4, numerics="fp32_rne")
SCALED = CONFIGS["dot_blackwell_nvfp4_64"]


def operands(config, rows=2, **changes):
    """Return operands of zeros, with some replaced."""
    shape = (rows, config.terms)
    inputs = {name: np.zeros(shape, np.uint32) for name in ("a", "b")}
    inputs["c"] = np.zeros(rows, np.uint32)
    for name in ("a_scale", "b_scale") if config.scale else ():
        inputs[name] = np.zeros((rows, config.scales), np.uint32)
    return inputs | changes


def test_operands_of_the_right_kind_are_taken():
    for config in (FUSED, TREE, SCALED):
        assert dot_product(config, **operands(config)).tolist() == [0, 0]
    one_row = {"a": [0] * 16, "b": [0] * 16, "c": 0}
    assert dot_product(FUSED, **one_row).tolist() == [0]


@pytest.mark.parametrize("config", [FUSED, TREE], ids=["fused", "tree"])
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"a": np.zeros((2, 32), int)}, ValueError, r"a must have shape \(any, .*not \(2, 32\)"),
        ({"b": np.zeros((2, 2), int)}, ValueError, r"b must have shape \(any, .*not \(2, 2\)"),
        ({"b": np.zeros((3, 0), int)}, ValueError, r"b must have shape"),
        ({"c": np.zeros(3, int)}, ValueError, r"c must have shape \(2\), not \(3,\)"),
        ({"c": np.zeros((2, 1), int)}, ValueError, r"c must have shape \(2\), not \(2, 1\)"),
        ({"c": np.ones(2)}, TypeError, "c must hold stored bits as integers, not float64"),
        ({"c": np.ones(2, bool)}, TypeError, "c must hold stored bits as integers, not bool"),
        ({"c": [0, 1 << 32]}, ValueError, "c must be stored bits of 32 bits, not 0x100000000"),
        ({"c": [0, -1]}, ValueError, "c must be stored bits of 32 bits, not -0x1"),
    ],
)
def test_operands_of_a_dot_product_that_are_refused(config, changes, error, message):
    with pytest.raises(error, match=message):
        dot_product(config, **operands(config, **changes))


@pytest.mark.parametrize("model", [dot_product, tree_dot_product])
@pytest.mark.parametrize("name", ["a", "b"])
def test_factors_that_are_refused(model, name):
    factors = np.zeros((2, TREE.terms), np.uint32)
    with pytest.raises(TypeError, match=f"{name} must hold stored bits as integers, not float16"):
        model(TREE, **operands(TREE, **{name: factors.astype(np.float16)}))
    with pytest.raises(ValueError, match=f"{name} must be stored bits of 16 bits, not 0x10000"):
        model(TREE, **operands(TREE, **{name: factors + 0x10000}))
    with pytest.raises(ValueError, match="b must have as many rows as a, 2, not 1"):
        model(TREE, **operands(TREE, b=factors[:1]))


def test_scales_that_are_refused():
    inputs = operands(SCALED)
    with pytest.raises(ValueError, match="a_scale must be given: scales are ue4m3"):
        dot_product(SCALED, inputs["a"], inputs["b"], inputs["c"])
    with pytest.raises(ValueError, match="b_scale must be given: scales are ue4m3"):
        dot_product(SCALED, **inputs | {"b_scale": None})
    with pytest.raises(ValueError, match=r"a_scale must have shape \(2, 4\), not \(2, 2\)"):
        dot_product(SCALED, **inputs | {"a_scale": inputs["a_scale"][:, :2]})
    with pytest.raises(ValueError, match="b_scale must be stored bits of 7 bits, not 0x80"):
        dot_product(SCALED, **inputs | {"b_scale": inputs["b_scale"] + 0x80})
    with pytest.raises(TypeError, match="a_scale must hold stored bits as integers, not float32"):
        dot_product(SCALED, **inputs | {"a_scale": inputs["a_scale"].astype(np.float32)})
    scale = np.zeros((2, 1), np.uint32)
    for config in (FUSED, TREE):
        with pytest.raises(ValueError, match="a_scale must be None: the config has no scales"):
            dot_product(config, **operands(config), a_scale=scale, b_scale=scale)


ONES = np.full(3, 0x3F80_0000, np.uint32)
NOT_A_MODE = r"rounding must be one of 0 \(NEAREST_EVEN\), .*4 \(NEAREST_AWAY\), not 5"


def test_operations_that_do_not_exist_are_refused():
    refused = [
        (lambda: fma(np.array([0, 7, 6]), ONES, ONES, ONES), r"0 \(FMADD\), .*6 \(FMUL\), not 7"),
        (lambda: float_operation(7, ONES, ONES, ONES), "not 7"),
        (lambda: divide_operation(len(DivideOperation), ONES, ONES), "not 6"),
        (lambda: special_function(np.array([0, 1, 7]), ONES), "not 7"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=f"operation must be one of .*{message}"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda mode: floats.encode(np.ones(3), FP16, mode),
        lambda mode: floats.convert(ONES, FP32, FP16, mode),
        lambda mode: fma(FmaOperation.FADD, ONES, ONES, ONES, mode),
        lambda mode: float_operation(FloatOperation.MIN, ONES, ONES, ONES, mode),
        lambda mode: float_operation(FloatOperation.TO_SIGNED, ONES, ONES, ONES, mode),
        lambda mode: divide_operation(DivideOperation.FDIV, ONES, ONES, mode),
        lambda mode: divide_operation(DivideOperation.REM, ONES, ONES, mode),
    ],
)
def test_rounding_modes_that_do_not_exist_are_refused(call):
    assert len(call(np.array([0, 4, 1]))) > 0
    for mode in (5, np.array([0, 5, 1])):
        with pytest.raises(ValueError, match=NOT_A_MODE):
            call(mode)
    with pytest.raises(TypeError, match="rounding must be integers, not float64"):
        call(np.zeros(3))


@pytest.mark.parametrize("form", [FP32, FP16, FP8_E4M3], ids=lambda form: form.name)
def test_numbers_are_not_taken_as_stored_bits(form):
    with pytest.raises(TypeError, match="bits must be stored bits as integers, not float64"):
        floats.decode(np.ones(3), form)
    with pytest.raises(TypeError, match="a must hold stored bits as integers, not float64"):
        special_function(0, np.ones(3))


def fma_inputs(**changes):
    """Return inputs of a multiply-add unit for `Lanes.pack`, with some replaced."""
    stored = {name: np.zeros(2, np.uint32) for name in ("a", "b", "c", "operation", "rounding")}
    return stored | changes


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"operation": np.array([0, 7])}, ValueError, "operation must be one of .*not 7"),
        ({"rounding": np.array([5, 0])}, ValueError, NOT_A_MODE),
        ({"rounding": np.array([8, 0])}, ValueError, "rounding must be stored bits of 3 bits"),
        ({"a": np.ones(2)}, TypeError, "a must hold stored bits as integers, not float64"),
        ({"b": np.array([1 << 32, 0])}, ValueError, "b must be stored bits of 32 bits"),
        ({"b": np.array([-1, 0])}, ValueError, "b must be stored bits of 32 bits, not -0x1"),
        ({"c": np.zeros((2, 1), int)}, ValueError, r"c must have shape \(2,\), not \(2, 1\)"),
    ],
)
def test_inputs_of_a_unit_bench_that_are_refused(changes, error, message):
    unit = Fma(FmaConfig())
    Fragment.get(unit, None)  # Amaranth warns of components that are never elaborated.
    lanes = ports_of(unit)
    modes = np.array(list(Rounding)[:2])
    assert lanes.pack(fma_inputs(rounding=modes)).shape == (2, 5)
    with pytest.raises(error, match=message):
        lanes.pack(fma_inputs(**changes))
