"""Tests of float functions in programs: largest errors as stated in the header, and extremes."""

import re

import numpy as np
import pytest

from spica.kernels.compile import INCLUDE_DIRECTORY, compile_program
from spica.kernels.inspection import inspect_program
from spica.kernels.program import Program
from support.programs.source_run import PROGRAMS, cluster, read_words, run_source

SOURCE = PROGRAMS / "math.c"
CONFIG = cluster(1, 4, 32)
#: In the order of the program's table.
FUNCTIONS = re.findall(r"task_(\w+)", SOURCE.read_text().split("tasks[] = {")[1])
X, Y, Z = 0x9000_0000, 0xA000_0000, 0xB000_0000
#: Numbers of a sweep; the slow test uses more.
COUNT, SLOW_COUNT = 1 << 19, 1 << 25
LARGEST = float(np.finfo(np.float32).max)


def stated() -> dict[tuple[str, str], float]:
    """Return the largest error of each function in the header, in ulp or absolute."""
    text = (INCLUDE_DIRECTORY / "spica_math.h").read_text()
    rows = re.findall(r"^ \*  (\w+)f +(\S+) +(ulp|absolute)", text, re.MULTILINE)
    return {(name, unit): 2.0 ** float(v[2:]) if "^" in v else float(v) for name, v, unit in rows}


def run(name: str, x: np.ndarray, y: np.ndarray | None = None, optimize: int = 3) -> np.ndarray:
    """Return the results of a function."""
    second = np.zeros_like(x) if y is None else y
    iss, _ = run_source(
        SOURCE,
        CONFIG,
        arguments=[FUNCTIONS.index(name), len(x), X, Y, Z],
        data={X: x.astype(np.float32), Y: second.astype(np.float32)},
        optimize=optimize,
    )
    return read_words(iss, Z, len(x)).view(np.float32)


def of_all_sizes(rng, count: int, low: float, high: float) -> np.ndarray:
    """Return numbers between two positive ones, equally many per exponent."""
    first, last = np.array([low, high], np.float32).view(np.uint32)
    return rng.integers(first, last, count, np.uint32, endpoint=True).view(np.float32)


def both_signs(rng, numbers: np.ndarray) -> np.ndarray:
    return np.where(rng.integers(0, 2, len(numbers)) == 1, -numbers, numbers)


def operands(name: str, rng, count: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return numbers over all of a function's domain, more in difficult ranges."""
    part = count // 2
    if name == "exp":
        close = both_signs(rng, of_all_sizes(rng, part, 2.0**-30, 80.0))
        return np.concatenate([rng.uniform(-103.9, 88.72, part), close]).astype(np.float32), None
    if name == "log":
        close = rng.uniform(0.4, 2.5, part).astype(np.float32)
        return np.concatenate([of_all_sizes(rng, part, 1e-45, LARGEST), close]), None
    if name == "tanh":
        close = rng.uniform(-2, 2, part).astype(np.float32)
        return np.concatenate([both_signs(rng, of_all_sizes(rng, part, 1e-38, 20)), close]), None
    if name == "pow":
        close = rng.uniform(0.5, 2, part).astype(np.float32)
        x = np.concatenate([of_all_sizes(rng, part, 1e-45, LARGEST), close])
        x = np.where(np.abs(x - 1) < 1e-6, np.float32(3), x)
        exponent = rng.uniform(-149, 128, len(x))
        with np.errstate(over="ignore"):
            return x, (exponent / np.log2(x.astype(np.float64))).astype(np.float32)
    if name in ("sin", "cos"):
        return both_signs(rng, of_all_sizes(rng, count, 2.0**-60, LARGEST)), None
    return of_all_sizes(rng, count, 1e-38, LARGEST), None


EXACT = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def largest_error(name: str, unit: str, count: int, seed: int) -> float:
    x, y = operands(name, np.random.default_rng(seed), count)
    results = run(name, x, y).astype(np.float64)
    given = [values.astype(np.float64) for values in (x, y) if values is not None]
    exact = EXACT[name](*given)
    inside = np.abs(exact) < LARGEST
    difference = np.abs(results - exact)[inside]
    if unit == "absolute":
        return float(difference.max())
    place = np.floor(np.log2(np.maximum(np.abs(exact[inside]), 2.0**-126))) - 23
    return float((difference / 2.0**place).max())


@pytest.mark.parametrize(("name", "unit"), stated())
def test_largest_error_is_what_the_header_states(name, unit):
    bound = stated()[name, unit]
    error = largest_error(name, unit, COUNT, seed=1)
    assert 0.5 * bound < error <= bound, "neither exceeded nor far from it"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "unit"), stated())
def test_largest_error_in_many_numbers(name, unit):
    parts = range(SLOW_COUNT // (1 << 22))
    error = max(largest_error(name, unit, 1 << 22, seed) for seed in parts)
    assert 0.75 * stated()[name, unit] < error <= stated()[name, unit]


def test_every_function_has_its_error_stated():
    assert {name for name, _ in stated()} == set(EXACT)


def extremes() -> np.ndarray:
    numbers = [0.0, 1e-45, 1e-40, 2.0**-126, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 88.73]
    numbers += [88.75, 104.5, 2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**24 + 2, 2.0**31, 4e9, 1e20]
    numbers += [LARGEST, np.inf]
    values = np.array([*numbers, *(-number for number in numbers), np.nan], np.float64)
    return values.astype(np.float32)


def require_same(name: str, results: np.ndarray, exact: np.ndarray, *given: np.ndarray, rtol=0.0):
    """Fail unless results are equal, with the sign of zero and NaN for NaN, or within `rtol`."""
    expected = exact.astype(np.float32)
    both_nan = np.isnan(results) & np.isnan(expected)
    with np.errstate(invalid="ignore"):
        room = np.maximum(rtol * np.abs(expected), 2.0**-149 if rtol else 0.0)
        close = (np.abs(results - expected) <= room) & np.isfinite(expected)
    same = (results == expected) | close
    wrong = ~(both_nan | (same & (np.signbit(results) == np.signbit(expected))))
    report = [
        (*(values[k] for values in given), results[k], expected[k]) for k in np.where(wrong)[0]
    ]
    assert not report, f"{name}: operands, found, expected: {report}"


ROUNDED = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "fabs": np.abs,
    "sqrt": np.sqrt,
}


@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.parametrize("name", ROUNDED)
def test_exact_functions(name, optimize):
    rng = np.random.default_rng(2)
    x = np.concatenate([
        extremes(),
        both_signs(rng, of_all_sizes(rng, 5000, 1e-45, LARGEST)),
        rng.uniform(-100, 100, 5000).astype(np.float32),
        np.arange(-40, 40, dtype=np.float32) / 4,
    ])
    with np.errstate(invalid="ignore"):
        exact = ROUNDED[name](x.astype(np.float64))
    require_same(name, run(name, x, optimize=optimize), exact, x)


@pytest.mark.parametrize("name", ["fmin", "fmax", "copysign"])
def test_functions_of_two_numbers(name):
    x, y = (grid.ravel() for grid in np.meshgrid(extremes(), extremes()))
    is_zero = (x == 0) & (y == 0) if name != "copysign" else np.zeros(len(x), bool)
    x, y = x[~is_zero], y[~is_zero]  # NumPy does not distinguish zeros
    exact = {"fmin": np.fmin, "fmax": np.fmax, "copysign": np.copysign}[name](x, y)
    require_same(name, run(name, x, y), exact, x, y)


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_extremes(name):
    x = extremes()
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.float64))
        require_same(name, run(name, x), exact, x, rtol=1e-6)


def test_powers_of_extremes():
    x, y = (grid.ravel() for grid in np.meshgrid(extremes(), extremes()))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        require_same("pow", run("pow", x, y), exact, x, y, rtol=1e-6)


@pytest.mark.parametrize("optimize", [0, 3])
def test_float_becomes_double(optimize):
    """The conversion before printing: exact, for divergent threads."""
    rng = np.random.default_rng(3)
    x = np.concatenate([extremes()[:-1], both_signs(rng, of_all_sizes(rng, 5000, 1e-45, LARGEST))])
    rng.shuffle(x)
    halves = [run(half, x, optimize=optimize).view(np.uint32) for half in ("lower", "upper")]
    results = np.stack(halves, axis=1).reshape(-1).view(np.float64)
    assert np.array_equal(results.view(np.uint64), x.astype(np.float64).view(np.uint64))
    assert np.isnan(run("fabs", extremes()[-1:])).all()


@pytest.mark.parametrize("optimize", [2, 3])
def test_no_function_needs_the_stack(optimize):
    program = Program.load(compile_program([SOURCE], CONFIG, optimize=optimize))
    complaints = inspect_program(program)
    # A conversion to double is a call.
    assert [line.split(",")[0] for line in complaints] == ["task_upper", "task_lower"]
