"""Tests of the Python interface `import spica`."""

import ml_dtypes
import numpy as np
import pytest

from spica import Machine
from spica.base.errors import MachineError, UserError
from spica.hw.presets import PRESETS
from spica.sim.report.check_report import check_lines
from spica.sim.run.inputs.arrays import as_elements


def operands(seed, m, n, k):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, k)), rng.standard_normal((k, n))


def rounded(a, b):
    """Return the product of operands rounded to fp16."""
    a, b = (x.astype(np.float16).astype(np.float64) for x in (a, b))
    return a @ b


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        pytest.param("tiny_matrix", {}, id="host"),
        pytest.param("tiny", {"engine": "iss"}, id="model"),
    ],
)
def test_matrices_are_multiplied(preset, options):
    a, b = operands(1, 17, 9, 33)
    machine = Machine(preset, **options)
    assert machine.last is None
    c = machine.matmul(a, b)
    assert (c.dtype, c.shape) == (np.float16, (17, 9))
    assert np.abs(c.astype(np.float64) - rounded(a, b)).max() < 0.02
    wide = machine.matmul(a, b, c_format="fp32")
    assert wide.dtype == np.float32
    assert np.abs(wide - rounded(a, b)).max() < 1e-5
    assert np.array_equal(wide.astype(np.float16), c)
    last = machine.last
    assert last is not None and last.result["check"]["verdict"] == "pass"
    if preset == "tiny_matrix":
        assert last.cycles and last.mac_utilization
        assert last.counters["matrix_active"] * 16 >= 17 * 9 * 33


def test_two_products_are_independent():
    machine = Machine("tiny_matrix")
    a, b = operands(2, 8, 8, 8)
    first = machine.matmul(a, b)
    assert np.array_equal(machine.matmul(-a, b), -first)
    assert np.array_equal(machine.matmul(a, b), first)


@pytest.mark.parametrize("preset", ["ampere", "hopper"])
def test_tensor_units_multiply(preset):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-4, 5, (20, 30)), rng.integers(-4, 5, (30, 10))
    assert np.array_equal(Machine(preset, engine="iss").matmul(a, b, c_format="fp32"), a @ b)


def test_integers_and_infinities_pass():
    machine = Machine("tiny", engine="iss")
    assert np.array_equal(
        machine.matmul(np.eye(5, dtype=int), np.arange(15).reshape(5, 3)),
        np.arange(15).reshape(5, 3),
    )
    a = np.array([[1.0, np.inf], [0.0, -np.inf]])
    c = machine.matmul(a, np.eye(2))
    assert np.isnan(c[:, 0]).all() and c[0, 1] == np.inf and c[1, 1] == -np.inf


@pytest.mark.parametrize("preset", ["ampere", "volta", "hopper"])
def test_an_intermediate_result_that_leaves_the_range_fails(preset):
    """FP32 has 90,000, which FP16 products of these units have not."""
    machine = Machine(preset, engine="iss")
    with pytest.raises(MachineError, match="c: 1 of 1 values left the range of the format; c"):
        machine.matmul([[300.0]], [[300.0]], c_format="fp32")
    assert machine.last is not None
    check = machine.last.result["check"]
    assert (check["verdict"], check["buffers"]["c"]["left_range"]) == ("fail", 1)
    assert "1 of 1 values of c left the range of the format" in "\n".join(
        check_lines(machine.last.result)
    )
    assert machine.matmul([[np.inf]], [[300.0]], c_format="fp32") == np.inf


def test_a_result_beyond_its_format_is_stated():
    machine = Machine("tiny", engine="iss")
    with pytest.warns(RuntimeWarning, match="1 value of c left the range of the format, as in"):
        c = machine.matmul([[300.0, 1.0]], [[300.0, 1.0], [0, 1]])
    assert c.tolist() == [[np.inf, 301]]
    assert machine.last is not None
    assert machine.last.result["check"]["buffers"]["c"]["rounded_to_infinity"] == 1
    assert "left the range" in "\n".join(check_lines(machine.last.result))
    assert machine.matmul([[300.0]], [[300.0]], c_format="fp32") == 90000


def test_kernels_run():
    machine = Machine("core", engine="iss")
    buffers = machine.run("vecadd", n=100)
    assert machine.last is not None and machine.last.cycles is None
    with np.errstate(all="ignore"):
        assert np.array_equal(buffers["z"], buffers["x"] + buffers["y"], equal_nan=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"machine": "nothing"}, "machine must be one of"),
        ({"machine": "tiny", "engine": "icarus"}, "engine must be one of"),
        ({"machine": "tiny", "driver": "cpu"}, "driver must be"),
        ({"machine": "matrix", "driver": "cores"}, "has none"),
        ({"machine": "matrix", "engine": "iss"}, "needs a machine with cores"),
    ],
)
def test_a_machine_that_cannot_be(arguments, words):
    with pytest.raises(UserError, match=words):
        Machine(**arguments)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.ones((2, 3)), np.ones((2, 3)), "as many columns"),
        (np.ones(3), np.ones((2, 1)), "as many columns"),
        (3, np.ones((2, 1)), "a must be a matrix of numbers, a vector or a batch"),
        (np.ones((0, 2)), np.ones(3), "as many columns"),
        (np.ones((2, 2)), np.full((2, 2), "x"), "b must be an array of numbers"),
        (np.ones((2, 2, 2)), np.ones((3, 2, 2)), "one shape or broadcast"),
    ],
)
def test_matrices_that_cannot_be(a, b, words):
    with pytest.raises(UserError, match=words):
        Machine(PRESETS["tiny"], engine="iss").matmul(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 4, 3), (3,)), ((3,), (2, 3, 4))],
)
@pytest.mark.quick(2)
def test_vectors_are_those_of_numpy(a, b):
    rng = np.random.default_rng(7)
    a, b = rng.integers(-4, 5, a), rng.integers(-4, 5, b)
    c = Machine("tiny", engine="iss").matmul(a, b)
    assert c.shape == (a @ b).shape and np.array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("a", "b"), [((0, 3), (3, 2)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 2)), ((2, 0), (0, 3))]
)
@pytest.mark.quick(1)
def test_empty_products_are_those_of_numpy(a, b):
    machine = Machine("tiny", engine="iss")
    c = machine.matmul(np.ones(a), np.ones(b))
    assert (c.shape, c.dtype) == ((np.ones(a) @ np.ones(b)).shape, np.float16) and not c.any()
    assert len(machine.runs) == (c.size > 0)


SQUARE = np.eye(2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"activation": "tanh"}, "relu, gelu or None, not 'tanh'"),
        ({"bias": np.ones(3)}, r"shape \(2,\), not \(3,\)"),
        ({"bias": ["x", "y"]}, "bias must be an array of numbers"),
        ({"add": np.ones((3, 2))}, r"add must have the shape \(2, 2\) or broadcast"),
        ({"add": SQUARE, "activation": "relu"}, "not both"),
        ({"c_format": "bf16"}, "fp16, fp32, not 'bf16' with operands in fp16"),
    ],
)
def test_options_of_a_product_that_cannot_be(options, words):
    with pytest.raises(UserError, match=words):
        Machine("tiny", engine="iss").matmul(SQUARE, SQUARE, **options)


def test_a_product_is_finished_only_by_cores_beside_a_matrix_unit():
    with pytest.raises(UserError, match="need driver cores"):
        Machine("tiny_matrix").matmul(SQUARE, SQUARE, add=SQUARE)
    with pytest.raises(UserError, match="gemm_bias_relu needs cores and a matrix unit"):
        Machine("ampere", engine="iss").matmul(SQUARE, SQUARE, activation="relu")


def test_a_batch_with_one_b_is_one_product():
    rng = np.random.default_rng(3)
    a, b, add = (rng.integers(-4, 5, shape) for shape in ((2, 3, 5, 9), (9, 4), (3, 1, 4)))
    machine = Machine("tiny", engine="iss")
    assert np.array_equal(machine.matmul(a, b), a @ b)
    assert len(machine.runs) == 1
    assert np.array_equal(machine.matmul(a, b[None], add=add), a @ b + add)


@pytest.mark.full
def test_a_batch_is_broadcast(tmp_path):
    rng = np.random.default_rng(4)
    a, b = rng.integers(-4, 5, (2, 1, 5, 9)), rng.integers(-4, 5, (3, 9, 4))
    bias = rng.integers(-4, 5, 4)
    machine = Machine("tiny", engine="iss")
    assert np.array_equal(machine.matmul(a, b), a @ b)
    assert len(machine.runs) == 6 and machine.last is machine.runs[-1]
    finished = machine.matmul(a, b[:1], bias=bias, activation="relu")
    assert np.array_equal(finished, np.maximum(a @ b[:1] + bias, 0))
    assert np.array_equal(machine.matmul(a[0, 0], b[0], bias=bias), a[0, 0] @ b[0] + bias)
    with pytest.raises(UserError, match="one product, not a batch of 6"):
        machine.matmul(a, b, save=tmp_path / "run.spica", save_at=50)


def test_gelu_alone():
    a = np.linspace(-4, 4, 33)[:, None]
    c = Machine("tiny", engine="iss").matmul(a, np.ones((1, 1)), activation="gelu", c_format="fp32")
    x = a.astype(np.float16).astype(np.float64)
    gelu = x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    assert np.abs(c - gelu).max() < 1e-6


@pytest.mark.parametrize(
    ("machine", "options"),
    [("tiny", {"engine": "iss"}), ("tiny_matrix", {"engine": "amaranth"})],
)
@pytest.mark.full
def test_types_of_ml_dtypes(machine, options):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((6, 8)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((8, 5)).astype(ml_dtypes.float8_e4m3fn)
    a[0, 0] = np.nan
    wide = a.astype(np.float32) @ b.astype(np.float32)
    c = Machine(machine, set={"matrix.operand": "bf16"}, **options).matmul(a, b)
    assert c.dtype == ml_dtypes.bfloat16 and np.isnan(c[0].astype(np.float32)).all()
    assert np.abs(c[1:].astype(np.float32) - wide[1:]).max() < 0.05


@pytest.mark.parametrize("form", ["bf16", "fp8_e4m3", "fp8_e5m2"])
def test_elements_are_rounded_as_by_ml_dtypes(form):
    dtype = np.dtype(
        ml_dtypes.bfloat16 if form == "bf16" else f"float8_{form[4:]}".replace("e4m3", "e4m3fn")
    )
    largest = float(ml_dtypes.finfo(dtype).max)
    values = np.random.default_rng(6).standard_normal(2000) * np.geomspace(1e-9, largest / 8, 2000)
    values[0] = np.nan
    if form != "fp8_e4m3":
        values[1:3] = np.inf, -np.inf
    elements = as_elements(values, form)
    expected = values.astype(np.float32).astype(dtype) if form == "bf16" else values.astype(dtype)
    assert np.array_equal(elements[1:], expected.view(elements.dtype)[1:])
    assert np.isnan(elements[:1].view(dtype).astype(float)).all()


def test_a_machine_without_matrix_unit_says_so():
    with pytest.raises(UserError, match="needs a matrix unit"):
        Machine("core", engine="iss").matmul(np.eye(2), np.eye(2))
