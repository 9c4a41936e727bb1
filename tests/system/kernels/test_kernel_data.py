"""Tests of kernel data: exact sums, valid and tight bounds, references."""

import numpy as np
import pytest

from spica.kernels.conv2d.kernel import filtered
from spica.kernels.floats import EXTREMES, ROUNDOFF, chain_bound, with_extremes
from spica.kernels.reduce.kernel import summable


def test_extremes_are_among_the_data():
    values = with_extremes(np.random.default_rng(1), 4000).view(np.uint32)
    assert set(EXTREMES.view(np.uint32).tolist()) <= set(values.tolist())
    assert np.count_nonzero(np.isin(values, EXTREMES.view(np.uint32))) < 1000


def test_a_chain_of_roundings_stays_within_its_bound_and_may_be_near_it():
    rng = np.random.default_rng(2)
    for n in (2, 10, 1000):
        terms = rng.standard_normal(n, dtype=np.float32)
        total = np.add.accumulate(terms)[-1]
        error = abs(float(total) - terms.sum(dtype=np.float64))
        assert error <= chain_bound(n - 1, np.abs(terms).sum(dtype=np.float64))
    # Each term is half a unit in the last place of the sum and lost by rounding to even.
    terms = np.full(1000, ROUNDOFF, np.float32)
    terms[0] = 1
    error = abs(float(np.add.accumulate(terms)[-1]) - terms.sum(dtype=np.float64))
    bound = chain_bound(999, terms.sum(dtype=np.float64))
    assert 0.99 * bound < error <= bound


def test_the_bound_of_tiny_sums_is_that_of_subnormals():
    assert chain_bound(1, np.float64(0)) == 2.0**-150


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 8192, 1 << 20])
def test_summable_values_have_exact_sums_in_any_order(n):
    rng = np.random.default_rng(3)
    values = summable(rng, n)
    assert np.count_nonzero(values) == n
    for order in (values, np.sort(values), rng.permutation(values)):
        assert np.array_equal(np.add.accumulate(order), np.cumsum(order, dtype=np.float64))


@pytest.mark.parametrize(("h", "w"), [(1, 1), (1, 4), (5, 1), (4, 6)])
def test_filter_is_that_of_the_definition(h, w):
    rng = np.random.default_rng(4)
    image, weights = rng.standard_normal((h, w)), rng.standard_normal((3, 3))
    for y in range(h):
        for x in range(w):
            total = sum(
                weights[1 + down, 1 + right] * image[y + down, x + right]
                for down in (-1, 0, 1)
                for right in (-1, 0, 1)
                if 0 <= y + down < h and 0 <= x + right < w
            )
            assert filtered(image, weights)[y, x] == pytest.approx(total)
