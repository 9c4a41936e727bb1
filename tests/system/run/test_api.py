"""Tests of the Python interface `import spica`."""

import numpy as np
import pytest

from spica import Machine
from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS


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


def test_integers_and_infinities_pass():
    machine = Machine("tiny", engine="iss")
    assert np.array_equal(
        machine.matmul(np.eye(5, dtype=int), np.arange(15).reshape(5, 3)),
        np.arange(15).reshape(5, 3),
    )
    a = np.array([[1.0, np.inf], [0.0, 1e9]])
    c = machine.matmul(a, np.eye(2))
    assert np.isnan(c[0, 0]) and c[0, 1] == np.inf and c[1, 1] == np.inf


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
        (np.ones(3), np.ones((3, 1)), "a must be a matrix"),
        (np.ones((2, 2)), np.ones((2, 0)), "b must be a matrix"),
        (np.ones((2, 2)), np.full((2, 2), "x"), "b must be a matrix"),
    ],
)
def test_matrices_that_cannot_be(a, b, words):
    with pytest.raises(UserError, match=words):
        Machine(PRESETS["tiny"], engine="iss").matmul(a, b)


def test_a_machine_without_matrix_unit_says_so():
    with pytest.raises(UserError, match="needs a matrix unit"):
        Machine("core", engine="iss").matmul(np.eye(2), np.eye(2))
