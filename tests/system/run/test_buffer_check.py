"""Tests of the check of a kernel's buffers."""

from dataclasses import replace

import numpy as np
import pytest

from spica.kernels.kernel import Buffer
from spica.sim.run.buffer_check import check_buffer

INFINITY, NAN = np.inf, np.nan
LARGEST = float(np.finfo(np.float32).max)


def check(data, expected=None, bound=0.0, outcome=None):
    """Return the check of a buffer with contents `found`; default: its `data`."""
    buffer = Buffer(data=data, expected=expected, bound=bound)
    raw = (data if outcome is None else outcome).view(np.uint8).ravel()
    return check_buffer("x", buffer, raw)


@pytest.mark.parametrize(
    ("got", "expected", "bound", "right"),
    [
        (1.0, 1.0, 0.0, True),
        (1.0, 1.25, 0.25, True),
        (1.0, 1.25, 0.24, False),
        (NAN, 0.0, 1e30, False),
        (NAN, NAN, 0.0, True),
        (0.0, NAN, 1e30, False),
        (INFINITY, INFINITY, 0.0, True),
        (-INFINITY, INFINITY, 0.0, False),
        (LARGEST, INFINITY, 1e30, False),
        (INFINITY, LARGEST, 0.0, False),
        (INFINITY, LARGEST + 2.0**103, 0.0, True),  # rounds to infinity
        (INFINITY, LARGEST, 2.0**103, True),  # may round to infinity
        (-INFINITY, LARGEST, 2.0**103, False),
    ],
)
def test_floats(got, expected, bound, right):
    outcome = check(np.array([got], np.float32), np.array([expected]), bound)
    assert (outcome.wrong == 0) is right
    assert bool(outcome.examples) is not right


@pytest.mark.parametrize("bound", [0.0, 1.0, 1e30, 1e300, INFINITY, NAN])
@pytest.mark.parametrize("got", [INFINITY, -INFINITY, NAN])
def test_a_finite_value_never_permits_one_that_is_not(got, bound):
    """Neither does an infinite bound with a golden model that has left the range too."""
    values = np.array([got, 1.0], np.float32)
    for golden in (None, lambda: values):
        buffer = Buffer(data=values, expected=np.array([90000.0, 1.0]), bound=bound, golden=golden)
        outcome = check_buffer("x", buffer, values.view(np.uint8))
        assert outcome.wrong == outcome.outside_bound == 1
        # Without bits, a NaN may be an element that was not written.
        assert outcome.left_range == (0 if golden is None and np.isnan(got) else 1)
        permitted = check_buffer("x", replace(buffer, permits_overflow=True), values.view(np.uint8))
        assert permitted.passed is (golden is not None and permitted.left_range == 1)


def test_operands_with_infinities_have_infinite_results():
    values = np.array([INFINITY, NAN, -INFINITY], np.float32)
    assert check(values, values.astype(float), INFINITY).passed
    others = Buffer(data=values, expected=values.astype(float)[::-1], bound=INFINITY)
    assert check_buffer("x", others, values.view(np.uint8)).wrong == 2
    exact = replace(others, golden=lambda: values)  # 0 times infinity in one order of a sum only
    assert check_buffer("x", exact, values.view(np.uint8)).passed


def test_a_bound_above_the_value_does_not_make_it_infinite():
    for bound, right in ((LARGEST / 2, True), (LARGEST, False), (1e300, False)):
        outcome = check(np.array([INFINITY], np.float32), np.array([LARGEST * 0.75]), bound)
        assert outcome.passed is right
        assert (outcome.left_range, outcome.rounded_to_infinity) == (int(not right), int(right))


def test_half_precision_overflows_earlier():
    outcome = check(np.array([INFINITY], np.float16), np.array([65520.0]))
    assert outcome.wrong == 0
    assert check(np.array([INFINITY], np.float16), np.array([65519.0])).wrong == 1


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint32])
def test_integers(kind):
    limits = np.iinfo(kind)
    values = np.array([limits.min, 0, limits.max], kind)
    assert check(values, values.copy()).wrong == 0
    other = check(values, values.copy()[::-1])
    assert other.wrong == 2
    assert other.max_abs_error == limits.max - limits.min
    assert check(values, np.array([limits.min, 1, limits.max - 1]), 1).wrong == 0


def test_untouched_means_to_the_bit():
    data = np.array([0.0, NAN, 2.0], np.float32)
    assert check(data).wrong == 0
    changed = data.copy()
    changed[0] = -0.0
    outcome = check(data, outcome=changed)
    assert (outcome.wrong, outcome.mismatches, outcome.is_result) == (1, 1, False)
    assert outcome.examples[0]["index"] == [0]


def test_examples_are_the_first_and_few():
    data = np.zeros((4, 5), np.float32)
    outcome = check(data, np.ones((4, 5)), np.full((4, 5), 0.5))
    assert (outcome.wrong, outcome.elements) == (20, 20)
    assert [example["index"] for example in outcome.examples] == [[0, k] for k in range(5)]
    values = {"index": [0, 0], "expected": 1.0, "got": 0.0, "bound": 0.5}
    assert outcome.examples[0] == values | {"expected_bits": None, "got_bits": "0x00000000"}
    assert outcome.max_bound_share == 2.0


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"of x must have the shape of its data, \(2,\), not \(1,"):
        check(np.zeros(2, np.float32), np.zeros(1))
