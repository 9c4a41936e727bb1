"""Conversions of arrays from Python: values kept or rounded, everything else an error."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import spica
from spica.api.options import PYTHON_OPTIONS, python_options
from spica.base.errors import MachineError, UserError
from spica.kernels.elements import values_of
from spica.sim.run.inputs.arrays import ArrayError, as_elements, range_of

COPY = """
#include <spica.h>
typedef struct { uint32_t bytes; const uint8_t *x; uint8_t *y; float last; } Arguments;
int main(void) {
    const Arguments *g = spica_arguments();
    for (uint32_t i = 0; i < g->bytes; i++) g->y[i] = g->x[i];
    return g->last == 7.0f;
}
"""
IDENTITY = np.eye(2)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "copy.c"
    path.write_text(COPY)
    return path


def machine(operand=None):
    settings = {} if operand is None else {"matrix.operand": operand}
    return spica.Machine("tiny", engine="iss", set=settings, progress=False)


def copied(program, x, y=None, *, last=0.0, **options):
    """Run the program that copies the bytes of an array; return its result."""
    x = np.asarray(x)
    y = np.zeros(x.shape, x.dtype) if y is None else y
    return machine().run(program, args={"bytes": x.nbytes, "x": x, "y": y, "last": last}, **options)


# -- operands


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        ("fp16", np.int32(70000), "a are outside fp16, whose largest number is 65504: 70000 at"),
        ("fp16", -65520.0, r"-65520.0 at \[0, 1\]; scale or replace them first"),
        ("bf16", 3.4e38, "outside bf16, whose largest number is 3.3895314e"),
        ("fp32", 1e39, "outside fp32, whose largest number is 3.4028235e"),
        ("fp8_e4m3", np.inf, "fp8_e4m3, whose largest number is 448, without infinities: inf at"),
        ("fp8_e4m3", 465.0, "1 of 4 values of a are outside fp8_e4m3"),
        ("fp8_e5m2", 61440.0, "outside fp8_e5m2, whose largest number is 57344: 61440.0 at"),
        ("int8", np.uint8(200), "outside int8, -128 to 127: 200 at"),
        ("int8", np.nan, "outside int8, -128 to 127: nan at"),
        ("int8", -np.inf, "-inf at"),
        ("int8", 127.5, "127.5 at"),
        ("int8", np.uint64(2**63), "9223372036854775808 at"),
        ("int8", np.int64(-129), "-129 at"),
    ],
)
def test_operands_outside_the_range_are_refused(form, value, words):
    a = np.zeros((2, 2), np.asarray(value).dtype)
    a[0, 1] = value
    with pytest.raises(ArrayError, match=words):
        as_elements(a, form, "a")


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("fp16", 65519.9, 65504),
        ("fp16", -0.0, -0.0),
        ("fp16", 2.0**-24, 2.0**-24),
        ("fp16", -np.inf, -np.inf),
        ("fp16", np.nan, np.nan),
        ("bf16", 1 + 2.0**-9, 1),
        ("fp8_e4m3", 464.0, 448),
        ("fp8_e4m3", np.nan, np.nan),
        ("fp8_e5m2", 61439.0, 57344),
        ("fp8_e5m2", np.inf, np.inf),
        ("int8", -128.5, -128),
        ("int8", 2.5, 2),
        ("int8", True, 1),
    ],
)
def test_operands_are_rounded(form, value, expected):
    rounded = values_of(as_elements(np.array([[value]]), form), form)
    assert np.array_equal(rounded, [[expected]], equal_nan=True)
    assert np.signbit(rounded) == np.signbit(expected) or np.isnan(expected)


def test_the_ranges_end_where_rounding_does():
    """The edge of each format of floats, against `ml_dtypes`."""
    types = {"fp16": np.float16, "fp8_e5m2": ml_dtypes.float8_e5m2}
    types["fp8_e4m3"] = ml_dtypes.float8_e4m3fn
    for form, kind in types.items():
        limits = range_of(form)
        for value in (limits.edge, np.nextafter(limits.edge, 0), np.nextafter(limits.edge, 1e9)):
            with np.errstate(over="ignore"):
                is_finite = np.isfinite(np.array(value, np.float32).astype(kind).astype(float))
            if np.float32(value) == value:
                assert bool(limits.holds(np.array(value))) == is_finite, (form, value)


@pytest.mark.parametrize(
    ("a", "words"),
    [
        (np.ma.array(IDENTITY, mask=[[True, False]] * 2), "must not have masked elements"),
        (np.array([[1, 2**70], [0, 0]], object), "array of numbers, not object"),
        (IDENTITY * 1j, "not complex128"),
        (IDENTITY.astype("m8[s]"), "not timedelta64"),
        (IDENTITY.astype("M8[s]"), "not datetime64"),
        (np.zeros((2, 2), [("x", "f4")]), "array of numbers, not"),
        (np.zeros((2, 2), "V4"), "array of numbers, not"),
        ([[1.0], [1.0, 2.0]], "must be an array of numbers: "),
        (None, "array of numbers, not object"),
        (np.float64(3), "a must be a matrix of numbers, a vector or a batch of matrices"),
    ],
)
def test_other_arrays_are_refused(a, words):
    with pytest.raises(ArrayError, match=words):
        machine().matmul(a, IDENTITY)


def test_every_operand_is_named():
    made, big = machine(), np.full((2, 2), 1e39)
    for name, arguments in {
        "a": {"a": big},
        "b": {"b": big},
        "bias": {"bias": [1e39, 0]},
        "add": {"add": big},
    }.items():
        given = {"a": IDENTITY, "b": IDENTITY} | arguments
        with pytest.raises(ArrayError, match=f"values of {name} are outside"):
            made.matmul(**given)
    ampere = spica.Machine("ampere", engine="iss", progress=False)
    for name in "qkv":
        given = dict.fromkeys("qkv", np.zeros((2, 64))) | {name: np.full((2, 64), 70000)}
        with pytest.raises(ArrayError, match=f"128 of 128 values of {name} are outside fp16"):
            ampere.attention(**given)
    with pytest.raises(ArrayError, match="scale must be a number above 0 or None, not 'x'"):
        ampere.attention(*[np.zeros((2, 64))] * 3, scale="x")


def test_operands_of_any_order_and_layout():
    a = np.arange(12, dtype=">f4").reshape(3, 4)[:, ::-2]
    b = np.asfortranarray(np.arange(4, dtype=">i2").reshape(2, 2))
    b.flags.writeable = False
    assert np.array_equal(machine().matmul(a, b), a.astype(float) @ b.astype(float))


# -- own programs


@pytest.mark.parametrize("kind", ["f4", "f2", "i4", "u4", "i2", "u2", "i1", "u1", "?"])
@pytest.mark.parametrize("order", "<>")
def test_buffers_keep_their_values_in_any_byte_order(program, kind, order):
    x = np.array([0, 1, 100], f"{order}{kind}")
    run = copied(program, x, expect={"y": [0, 1, 1 if kind == "?" else 100], "x": x})
    assert run["y"].dtype == x.dtype and np.array_equal(run["y"], x)
    assert np.array_equal(run["x"], x)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"])
def test_buffers_of_ml_dtypes(program, name):
    x = np.array([1, -2, 3]).astype(getattr(ml_dtypes, name))
    run = copied(program, x, expect={"y": [1, -2, 3]})
    assert run["y"].dtype == x.dtype and run["y"].tolist() == x.tolist()
    with pytest.raises(ArrayError, match="2 of 3 values of expect y are"):
        copied(program, x, expect={"y": [1, 1e39, -1e39]})


def test_deviations_apply_to_every_float(program):
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    assert copied(program, x, expect={"y": [1, 2, 3.25]}, atol=0.25)
    with pytest.raises(MachineError, match="1 of 3 elements are wrong"):
        copied(program, x, expect={"y": [1, 2, 3.25]}, rtol=0.01)


def test_expected_values_are_rounded_to_floats(program):
    assert copied(program, np.float32([0.1, 1 / 3]), expect={"y": [0.1, 1 / 3]})
    assert copied(program, np.float16([0.1, np.inf]), expect={"y": [0.1, np.inf]})
    assert copied(program, np.arange(8, dtype=np.int16)[::3], expect={"y": [0, 3, 6]})


@pytest.mark.parametrize(
    ("kind", "expected", "words"),
    [
        ("u1", [1, 300], r"1 of 2 values of expect y are not numbers of .* uint8: 300 at \[1\]"),
        ("u1", [1, -1], "-1 at"),
        ("u1", [1, 1.5], "1.5 at"),
        ("i4", [1, np.nan], "nan at"),
        ("i4", [1, 1 << 31], "2147483648 at"),
        ("u4", np.array([1, -1]), "-1 at"),
        ("?", [1, 2], "2 at"),
        ("f2", [1, 70000], "outside fp16, whose largest number is 65504: 70000 at"),
        ("f4", [1, -1e39], "outside fp32"),
        ("f4", [1, 1j], "array of numbers, not complex128"),
        ("f4", ["a", "b"], "array of numbers, not <U1"),
        ("f4", [1], r"shape of its array, \(2,\), not \(1,\)"),
        ("f4", 1.0, r"not \(\)"),
        ("f4", np.ma.array([1, 2], mask=[0, 1]), "must not have masked elements"),
    ],
)
def test_expected_values_that_the_buffer_cannot_hold(program, kind, expected, words):
    with pytest.raises(ArrayError, match=words):
        copied(program, np.ones(2, kind), expect={"y": expected})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.arange(3), "not int64: convert them, for example by .astype\\(numpy.int32"),
        (np.arange(3, dtype=np.uint64), "not uint64"),
        (np.ones(3), "not float64: convert them, for example by .astype\\(numpy.float32"),
        (np.ones(3) * 1j, "not complex128"),
        (np.ones(3, object), "not object"),
        (np.ones(3, "M8[s]"), "not datetime64"),
        (np.zeros(3, [("a", "f4")]), "numbers of 8, 16 or 32 bits"),
        (np.zeros(3, "V4"), "numbers of 8, 16 or 32 bits"),
        (np.ma.array(np.float32([1, 2]), mask=[0, 1]), "must not have masked elements"),
        (np.zeros((0, 3), np.float32), "must have at least one element"),
        (1e39, "args 0 must be in the range of fp32, .* not 1e"),
        (np.float64(-1e39), "args 0 must be in the range of fp32"),
        (np.array(1 << 40), "args 0 must fit 32 bits, not 1099511627776"),
        (-(1 << 31) - 1, "args 0 must fit 32 bits"),
        (np.ma.masked, "must not have masked elements"),
        (np.timedelta64(3, "s"), "not timedelta64"),
        (1j, "must be an array or a number, not complex"),
        ([1, 2], "must be an array or a number, not list"),
        (None, "must be an array or a number, not NoneType"),
    ],
)
def test_arguments_that_a_word_cannot_hold(program, value, words):
    with pytest.raises(ArrayError, match=words):
        machine().run(program, args=[value])


@pytest.mark.parametrize("name", ["rtol", "atol"])
@pytest.mark.parametrize("value", [-1, -0.5, np.nan, np.inf, "x", [1], None, True])
def test_deviations_are_finite_and_not_negative(program, name, value):
    with pytest.raises(ArrayError, match=f"{name} must be a finite number, 0 or more, not "):
        copied(program, np.float32([1]), **{name: value})


@pytest.mark.parametrize("args", [{1, 2}, iter([1]), "12", {1: 2}, 3])
def test_arguments_have_an_order(program, args):
    with pytest.raises(UserError, match="args must be"):
        machine().run(program, args=args)


def test_expected_contents_are_a_mapping(program):
    with pytest.raises(ArrayError, match="expect must be a mapping"):
        machine().run(program, args=[1], expect=[1])


@pytest.mark.parametrize(
    ("preset", "engine"),
    [
        ("tiny", "iss"),
        ("core", "iss"),
        ("tiny", "verilator"),
        pytest.param("core", "verilator", marks=pytest.mark.slow),
    ],
)
@pytest.mark.quick(1)
def test_a_word_that_was_not_given_is_no_argument(program, preset, engine):
    made = spica.Machine(preset, engine=engine, progress=False)
    x = np.arange(3, dtype=np.uint8)
    args = [x.nbytes, x, np.zeros_like(x), 7.5]
    assert np.array_equal(made.run(program, args=args)[2], x)
    for given in (1, 2, 3) if engine == "iss" else (3,):
        words = "1 word" if given == 1 else f"{given} words"
        named = rf"argument \d, .* has {words} of arguments"
        at_address = "access refused by memory to 0x9fff000c"
        with pytest.raises(MachineError, match=named if engine == "iss" else at_address):
            made.run(program, args=args[:given])
    with pytest.raises(UserError, match=r"reads argument 0 of spica_arguments\(\)"):
        made.run(program, args=[])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({}, "sizes of vecadd must be n, not none; its arrays are x, y"),
        ({"n": 5, "k": 3}, "sizes of vecadd must be n, not n, k; its arrays are x, y"),
        ({"n": 5, "x": np.ones(4)}, r"x must have the shape \(n,\) = \(5,\), not \(4,\)"),
        ({"x": np.ones((2, 2))}, r"x must have the shape \(n,\), not \(2, 2\)"),
        ({"x": np.ones(2), "y": np.ones(3)}, r"y must have the shape \(n,\) = \(2,\), not \(3,\)"),
        ({"x": np.ones(0)}, "x must have at least one element"),
        ({"x": [1e39]}, "1 of 1 values of x are outside fp32"),
        ({"x": ["a"]}, "x must be an array of numbers"),
        ({"n": 2.5}, "n of vecadd must be an integer, not 2.5"),
        ({"n": True}, "n of vecadd must be an integer, not True"),
        ({"n": 1 << 40}, "n must be between 1 and"),
        ({"n": 5, "rtol": 0.1}, "has its own files, arguments and check"),
    ],
)
def test_sizes_are_integers(sizes, words):
    with pytest.raises(UserError, match=words):
        machine().run("vecadd", **sizes)
    assert machine().run("vecadd", n=np.int64(5))["z"].shape == (5,)


def test_numpy_numbers_are_numbers():
    assert spica.Machine("tiny", seed=np.int64(2), engine="iss").seed == 2
    assert type(spica.Dram(latency=np.int64(30), stall=np.float32(0.5)).latency) is int
    with pytest.raises(UserError, match="seed must be an integer, not 'x'"):
        spica.Machine("tiny", seed="x")
    with pytest.raises(UserError, match="n of vecadd must be an integer, not 2"):
        spica.compare("vecadd", "tiny", n=2.5, progress=False)


@pytest.mark.parametrize("name", ["vecad", "vec add", ""])
def test_an_unknown_kernel_is_refused(name):
    with pytest.raises(UserError, match=f"program must be a file or one of .*, not '{name}'"):
        machine().run(name)


def test_products_run_by_name_too():
    assert machine().run("gemm", m=4, n=5, k=6)["c"].shape == (4, 5)
    with pytest.raises(UserError, match="needs a matrix unit"):
        spica.Machine("core", engine="iss").run("gemm", m=4, n=4, k=4)


def test_arrays_of_a_kernel_replace_its_data():
    x = np.array([[0, 1, -np.inf, 3], [2, 2, 2, 2]])
    run = machine().run("softmax", x=x)
    exact = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    assert np.allclose(run["y"], exact, rtol=1e-6)
    assert run.to_dict()["sizes"] == {"rows": 2, "columns": 4}
    assert machine().run("saxpy", a=2, x=[1, 2], y=[3, 4])["y"].tolist() == [5, 8]
    assert machine().run("transpose", words=np.arange(6).reshape(2, 3))["result"].tolist() == [
        [0, 3],
        [1, 4],
        [2, 5],
    ]
    with pytest.raises(
        UserError, match="1 of 2 values of keys are not numbers of type uint32: -1 at"
    ):
        machine().run("bitonic_sort", keys=[1, -1])
    with pytest.raises(UserError, match="index must be below the size of the table, 3, not 7"):
        machine().run("random_access", x=[1, 2, 3], index=[7])
    with pytest.raises(UserError, match="y must have an error bound: values of x are too large"):
        machine().run("softmax", x=[[1e30, 1.0]])


def test_the_public_names_are_listed():
    assert {"Machine", "compare", "sweep"} <= set(dir(spica)) & set(dir(spica.api))
    assert repr(machine()) == "<Machine tiny: engine iss, driver cores>"


def test_messages_name_options_as_in_python():
    """Every advice of the command line in lower rooms has its words in Python."""
    said = {
        option
        for room in ("sim", "kernels", "explore")
        for path in Path(spica.__file__).parent.joinpath(room).rglob("*.py")
        for option in PYTHON_OPTIONS
        if option in path.read_text()
    }
    assert said == set(PYTHON_OPTIONS)
    words = 'call vx_fence, or choose races="ignore"'
    with pytest.raises(MachineError, match=words), python_options():
        raise MachineError("call vx_fence, or choose --races ignore")
    for options, words in (({"races": "x"}, "races must be one of"), ({"optimize": 4}, "0 and 3")):
        with pytest.raises(UserError, match=words):
            machine().run("vecadd", n=1, **options)
