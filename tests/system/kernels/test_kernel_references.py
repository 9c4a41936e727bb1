"""Tests of kernel references against other algorithms, and of the faults their bounds detect."""

import math
from fractions import Fraction

import numpy as np
import pytest

from spica.kernels.bitonic_sort.kernel import EXTREMES
from spica.kernels.kernel import find_kernel
from spica.kernels.layernorm.kernel import EPSILON, layernorm
from spica.kernels.mandelbrot.kernel import LIMIT, fused, steps
from spica.kernels.nbody.kernel import SOFTENING, accelerations
from spica.kernels.softmax.kernel import softmax
from spica.kernels.stencil.kernel import CENTRE, SIDE, STEPS, step

# -- stencil


def steps_point_by_point(grid, count):
    """Return a grid after some steps, in the type of `grid`, term by term."""
    for _ in range(count):
        before, grid = grid, grid.copy()
        for y in range(1, len(grid) - 1):
            for x in range(1, len(grid[0]) - 1):
                sides = before[y - 1, x] + before[y, x - 1] + before[y, x + 1] + before[y + 1, x]
                grid[y, x] = sides * grid.dtype.type(SIDE) + before[y, x] * grid.dtype.type(CENTRE)
    return grid


def test_stencil_is_what_points_say():
    problem = find_kernel("stencil").problem({"h": 9, "w": 12}, seed=3)
    even, odd = problem.buffers["even"], problem.buffers["odd"]
    for buffer, count in ((even, STEPS), (odd, STEPS - 1)):
        exact = steps_point_by_point(even.data.astype(np.float64), count)
        np.testing.assert_allclose(buffer.expected, exact, rtol=1e-13)
        assert (np.abs(steps_point_by_point(even.data, count) - exact) <= buffer.bound).all()
        rough = steps_point_by_point(even.data.astype(np.float16), count)
        assert (np.abs(rough - exact) > buffer.bound).any()


def test_stencil_keeps_its_border_to_the_bit():
    for buffer in find_kernel("stencil").problem({"h": 9, "w": 12}, seed=3).buffers.values():
        border = np.ones((9, 12), bool)
        border[1:-1, 1:-1] = False
        assert not buffer.bound[border].any()
        assert (buffer.bound[~border] > 0).all()
        assert (buffer.data[border] == buffer.expected[border]).all()


def test_errors_of_one_step_are_in_the_next_bound():
    values = np.ones((3, 3))
    bound = np.zeros((3, 3))
    bound[0, 1] = 1.0
    assert step(values, bound)[1][1, 1] == pytest.approx(SIDE, rel=1e-5)


# -- softmax


def softmax_in_float32(x):
    """Return the softmax of rows in FP32 with sequential sums."""
    shift = (x.max(axis=1, keepdims=True) * np.float32(math.log2(math.e))).astype(np.float32)
    e = np.exp2(fused(x, np.float32(math.log2(math.e)), -shift))
    total = np.cumsum(e, axis=1, dtype=np.float32)[:, -1:]
    return e * (np.float32(1) / total)


def test_softmax_of_known_values():
    y, _ = softmax(np.log(np.array([[1, 2, 5]], np.float32)))
    np.testing.assert_allclose(y, [[0.125, 0.25, 0.625]], rtol=1e-6)
    y, _ = softmax(np.array([[1e4, 1e4]], np.float32))
    np.testing.assert_array_equal(y, [[0.5, 0.5]])


@pytest.mark.parametrize("columns", [1, 2, 30, 1000])
def test_softmax_in_float32_is_within_its_bound(columns):
    buffers = find_kernel("softmax").problem({"rows": 50, "columns": columns}, seed=4).buffers
    x, y = buffers["x"].data, buffers["y"]
    np.testing.assert_allclose(y.expected.sum(axis=1), 1, rtol=1e-12)
    assert (np.abs(softmax_in_float32(x) - y.expected) <= y.bound).all()


def test_a_column_left_out_of_a_sum_is_noticed():
    buffers = find_kernel("softmax").problem({"rows": 50, "columns": 300}, seed=4).buffers
    y = buffers["y"]
    without = y.expected / y.expected[:, :-1].sum(axis=1, keepdims=True)
    noticed = (np.abs(without - y.expected) > y.bound).any(axis=1)
    # In some rows the last exponential is too small to be seen.
    assert noticed.mean() > 0.5


# -- layernorm


def layernorm_in_float32(x, gain, bias):
    """Return normalised rows in FP32 with sequential sums."""
    share = np.float32(1) / np.float32(x.shape[1])
    mean = np.cumsum(x, axis=1, dtype=np.float32)[:, -1:] * share
    off = x - mean
    variance = np.cumsum(off * off, axis=1, dtype=np.float32)[:, -1:] * share
    return off * (np.float32(1) / np.sqrt(variance + np.float32(EPSILON))) * gain + bias


def test_layernorm_of_known_values():
    x = np.array([[1, 3]], np.float32)
    y, _ = layernorm(x, np.array([1, 10], np.float32), np.array([0, 5], np.float32))
    np.testing.assert_allclose(y, [[-1, 15]], rtol=1e-5)
    y, _ = layernorm(x[:, :1], np.array([9], np.float32), np.array([7], np.float32))
    np.testing.assert_array_equal(y, [[7]])


@pytest.mark.parametrize("columns", [1, 2, 30, 1000])
def test_layernorm_in_float32_is_within_its_bound(columns):
    buffers = find_kernel("layernorm").problem({"rows": 50, "columns": columns}, seed=4).buffers
    x, gain, bias = (buffers[name].data for name in ("x", "gain", "bias"))
    y = buffers["y"]
    assert (np.abs(layernorm_in_float32(x, gain, bias) - y.expected) <= y.bound).all()


def test_a_column_left_out_of_the_mean_is_noticed():
    buffers = find_kernel("layernorm").problem({"rows": 50, "columns": 300}, seed=4).buffers
    x, gain, y = buffers["x"].data.astype(np.float64), buffers["gain"].data, buffers["y"]
    shift = x[:, -1:] / x.shape[1] / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    assert ((np.abs(shift * gain) > y.bound).any(axis=1)).mean() > 0.9


# -- nbody


def accelerations_one_by_one(places, mass):
    """Return accelerations in the type of `places`, a body at a time."""
    result = np.zeros_like(places)
    softening = places.dtype.type(SOFTENING)
    for i in range(len(mass)):
        for j in range(len(mass)):
            way = places[:, j] - places[:, i]
            square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + softening
            inverse = 1 / np.sqrt(square)
            result[:, i] += way * (mass[j] * inverse * inverse * inverse)
    return result


def test_nbody_of_two_bodies():
    places = np.array([[0, 3], [0, 0], [0, 4]], np.float32)
    a, _ = accelerations(places, np.array([2, 7], np.float32))
    power = (25 + SOFTENING) ** -1.5
    np.testing.assert_allclose(a[:, 0], [7 * 3 * power, 0, 7 * 4 * power], rtol=1e-14)
    np.testing.assert_allclose(a[:, 1], [-2 * 3 * power, 0, -2 * 4 * power], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_nbody_body_by_body(n):
    buffers = find_kernel("nbody").problem({"n": n}, seed=5).buffers
    places = np.stack([buffers[axis].data for axis in "xyz"])
    mass = buffers["mass"].data
    results = [buffers[axis] for axis in ("ax", "ay", "az")]
    expected, bound = (
        np.stack([getattr(b, what) for b in results]) for what in ("expected", "bound")
    )
    exact = accelerations_one_by_one(places.astype(np.float64), mass.astype(np.float64))
    np.testing.assert_allclose(expected, exact, rtol=1e-10, atol=1e-14)
    near = accelerations_one_by_one(places, mass)
    assert near.dtype == np.float32
    assert (np.abs(near - expected) <= bound).all()
    without_last = accelerations_one_by_one(places[:, :-1], mass[:-1])
    assert n == 1 or (np.abs(without_last - expected[:, :-1]) > bound[:, :-1]).all()


def test_nbody_in_blocks_is_nbody_at_once(monkeypatch):
    buffers = find_kernel("nbody").problem({"n": 295}, seed=6).buffers
    places, mass = np.stack([buffers[axis].data for axis in "xyz"]), buffers["mass"].data
    at_once = accelerations_one_by_one(places[:, :3].astype(np.float64), mass[:3].astype(float))
    np.testing.assert_allclose(accelerations(places[:, :3], mass[:3])[0], at_once, rtol=1e-12)
    # The last block holds a single body.
    monkeypatch.setattr("spica.kernels.nbody.kernel.BLOCK", 7)
    np.testing.assert_array_equal(accelerations(places, mass)[0][2], buffers["az"].expected)
    momentum = (mass * np.stack([buffers[a].expected for a in ("ax", "ay", "az")])).sum(axis=1)
    assert np.abs(momentum).max() < 1e-9


# -- bitonic_sort


def test_keys_are_sorted_and_some_extreme_some_alike():
    buffer = find_kernel("bitonic_sort").problem({"n": 1000}, seed=7).buffers["keys"]
    assert (np.diff(buffer.expected.astype(np.int64)) >= 0).all()
    np.testing.assert_array_equal(
        np.unique(buffer.data, return_counts=True), np.unique(buffer.expected, return_counts=True)
    )
    assert np.isin(EXTREMES, buffer.data).all()
    assert len(np.unique(buffer.data)) < 1000


# -- mandelbrot


def nearest_float32(value):
    """Return the FP32 value nearest to a fraction, ties to even."""
    guess = np.float32(float(value))
    candidates = [np.nextafter(guess, np.float32(to)) for to in (-np.inf, np.inf)] + [guess]
    return min(
        candidates, key=lambda c: (abs(Fraction(float(c)) - value), int(c.view(np.uint32)) & 1)
    )


def fused_one(a, b, c):
    return nearest_float32(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))


def test_fused_rounds_once():
    rng = np.random.default_rng(8)
    a, b, c = rng.standard_normal((3, 3000)).astype(np.float32)
    c *= np.float32(2.0) ** rng.integers(-30, 30, len(c)).astype(np.float32)
    np.testing.assert_array_equal(
        fused(a, b, c), [fused_one(*x) for x in zip(a, b, c, strict=True)]
    )
    assert (fused(a, b, c) != a * b + c).mean() > 0.1


@pytest.mark.parametrize("sign", [1, -1])
def test_fused_where_rounding_twice_is_wrong(sign):
    # 2^24 + 2 + 1 - 2^-30: a tie in float64, which rounds up to the even 2^24 + 4.
    x = np.float32(2.0**-15)
    a, b, c = (np.array([sign * v], np.float32) for v in (1 + x, sign * (1 - x), 2**24 + 2))
    assert np.float32(np.float64(a) * b + c) == sign * (2**24 + 4)
    assert fused(a, b, c) == sign * (2**24 + 2) == fused_one(a[0], b[0], c[0])


KNOWN_POINTS = {0: LIMIT, -2: LIMIT, 0.25: LIMIT, -0.75: LIMIT, 1: 3, 2: 2, 2.5: 1}


@pytest.mark.parametrize(("c", "count"), KNOWN_POINTS.items())
def test_steps_of_known_points(c, count):
    counts, total = steps(1, 1, np.float32(2 * c), np.float32(0), np.float32(1))
    assert counts.tolist() == [[count]]
    assert total == count


def steps_of_pixel(c_re, c_im):
    """Return a pixel's number of steps, with each operation rounded in exact fractions."""
    re = im = square = distance = np.float32(0)
    count = 0
    while distance <= 16 and count < LIMIT:
        difference = fused_one(re, re, -square)
        im = fused_one(re, im, c_im)
        re = fused_one(difference, 0.5, c_re)
        square = im * im
        distance = fused_one(re, re, square)
        count += 1
    return count


def test_counts_are_those_of_the_stated_operations():
    w, h = 9, 7
    problem = find_kernel("mandelbrot").problem({"w": w, "h": h}, seed=9)
    left, top, pitch = problem.arguments[3:6]
    counts = problem.buffers["counts"].expected
    for row in range(h):
        for column in range(w):
            c_re, c_im = fused_one(column, pitch, left), fused_one(row, pitch, top)
            assert counts[row, column] == steps_of_pixel(c_re, c_im)
    assert problem.operations == 8 * counts.sum()
    assert counts.min() < 10
    assert counts.max() == LIMIT
