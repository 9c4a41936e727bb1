"""Tests of attention's reference: other algorithms, its bound, and the faults it detects."""

import numpy as np
import pytest

from spica.hw.presets import PRESETS
from spica.kernels.attention.data import operands
from spica.kernels.attention.problem import AttentionProblem
from spica.kernels.attention.reference import LEAST_BLOCK, reference
from spica.kernels.elements import values_of
from spica.kernels.gemm.target import product_unit
from support.online_softmax import attention

PRESET_NAMES = ("virgo_fp32", "ampere_fp32", "virgo", "ampere", "hopper")


def posed(preset, kind="random", seed=1, **settings):
    """Return problem, unit and operands on a preset."""
    unit = product_unit(PRESETS[preset])
    sizes = {"queries": 24, "keys": 100, "depth": 64} | settings
    problem = AttentionProblem(operand=unit.operand, **sizes)
    return problem, unit, operands(problem, kind, seed)


def direct(problem, arrays):
    """Return O and LSE by loops over queries, with exponentials of whole rows."""
    q, k, v = (values_of(x, problem.operand) for x in arrays)
    o, lse = np.zeros(problem.shapes["o"]), np.full(problem.shapes["lse"], -np.inf)
    scale = problem.depth**-0.5 if problem.scale is None else problem.scale
    for head, row in np.ndindex(*lse.shape):
        kv = head // (problem.heads // problem.kv_heads)
        end = problem.keys
        if problem.causal:
            end = max(0, row + 1 + problem.keys - problem.queries)
        if end:
            scores = [scale * float(np.dot(q[head, row], key)) for key in k[kv, :end]]
            lse[head, row] = np.logaddexp.reduce(scores)
            o[head, row] = np.exp(scores - lse[head, row]) @ v[kv, :end]
    return o, lse


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"causal": True},
        {"causal": True, "keys": 10},
        {"queries": 300, "keys": 30, "causal": True},
        {"heads": 4, "kv_heads": 2, "batch": 2, "depth": 128, "queries": 7, "scale": 0.3},
        {"queries": 1, "keys": 1},
        {"kind": "large"},
        {"kind": "zeros", "causal": True},
    ],
)
def test_the_reference_is_the_softmax_of_whole_rows(settings):
    problem, unit, arrays = posed("virgo", **settings)
    expected = reference(problem, unit, *arrays)
    o, lse = direct(problem, arrays)
    np.testing.assert_allclose(expected.o, o, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(expected.lse, lse, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["random", "large", "zeros"])
@pytest.mark.parametrize("preset", PRESET_NAMES)
@pytest.mark.quick(2)
def test_blocks_of_any_length_stay_within_the_bound(preset, kind):
    for settings in ({}, {"causal": True}, {"depth": 128, "queries": 5, "keys": 33}, {"keys": 1}):
        problem, unit, arrays = posed(preset, kind, **settings)
        expected = reference(problem, unit, *arrays)
        assert np.isfinite(expected.o_bound).all()
        for seed in range(2):
            o, lse = attention(problem, unit, arrays, np.random.default_rng(seed))
            assert (np.abs(o - expected.o) <= expected.o_bound).all()
            is_empty = np.isneginf(expected.lse)
            assert np.array_equal(np.isneginf(lse), is_empty)
            distance = np.abs(np.where(is_empty, 0, lse) - np.where(is_empty, 0, expected.lse))
            assert (distance <= expected.lse_bound).all()


@pytest.mark.parametrize(
    ("preset", "largest_o", "largest_lse"),
    [
        # Least share of its bound that the largest error of 64 x 256 scores has. The bounds of O
        # are 68, 133, 4.5 and 32 times the largest error, those of LSE 33, 32, 588 and 68 times.
        ("virgo_fp32", 0.01, 0.02),
        ("ampere_fp32", 0.005, 0.02),
        ("virgo", 0.1, 0.001),
        ("ampere", 0.02, 0.01),
    ],
)
@pytest.mark.quick(1)
def test_the_bound_is_not_loose_on_normal_data(preset, largest_o, largest_lse):
    problem, unit, arrays = posed(preset, keys=256, queries=64)
    expected = reference(problem, unit, *arrays)
    o, lse = attention(problem, unit, arrays, np.random.default_rng(3))
    assert largest_o < (np.abs(o - expected.o) / expected.o_bound).max() <= 1
    assert largest_lse < (np.abs(lse - expected.lse) / expected.lse_bound).max() <= 1


@pytest.mark.parametrize("plant", ["rescale", "sum", "key", "scale", "block", "lse"])
@pytest.mark.parametrize("preset", ["virgo_fp32", "ampere_fp32", "virgo", "ampere"])
@pytest.mark.quick(6)
def test_planted_errors_exceed_the_bound(preset, plant):
    # Operands of 16 bits keep a stale maximum, so normal data have no rescale.
    problem, unit, arrays = posed(preset, "large" if plant in ("rescale", "sum") else "random")
    expected = reference(problem, unit, *arrays)
    o, lse = attention(problem, unit, arrays, np.random.default_rng(1), plant=plant)
    wrong = np.abs(o - expected.o) > expected.o_bound
    wrong_lse = np.abs(lse - expected.lse) > expected.lse_bound
    if plant == "lse":
        assert wrong_lse.all() and not wrong.any()
    elif plant == "sum":
        assert wrong.any() or wrong_lse.any()
    else:
        assert wrong.any()


def test_a_row_without_visible_keys_is_zero_and_exact():
    problem, unit, arrays = posed("virgo_fp32", queries=10, keys=4, causal=True)
    expected = reference(problem, unit, *arrays)
    assert not expected.o[0, :6].any() and np.isneginf(expected.lse[0, :6]).all()
    assert not expected.o_bound[0, :6].any() and not expected.lse_bound[0, :6].any()
    assert (expected.o_bound[0, 6:] > 0).all() and np.isfinite(expected.lse[0, 6:]).all()


def test_a_nan_of_q_spoils_its_row_alone():
    problem, unit, arrays = posed("virgo", causal=True)
    clean = reference(problem, unit, *arrays)
    arrays[0][0, 5, 63] = np.nan
    expected = reference(problem, unit, *arrays)
    assert np.isnan(expected.o[0, 5]).all() and np.isnan(expected.lse[0, 5])
    others = np.arange(problem.queries) != 5
    for name in ("o", "o_bound", "lse", "lse_bound"):
        own, right = (
            getattr(problem_results, name)[0, others] for problem_results in (expected, clean)
        )
        assert np.array_equal(own, right)


def test_a_key_of_minus_infinite_score_does_not_count():
    problem, unit, arrays = posed("virgo_fp32", keys=9)
    q, k, v = arrays
    q[..., 0] = np.abs(q[..., 0]) + 1
    k[0, 4, 0] = -np.inf
    expected = reference(problem, unit, *arrays)
    less = AttentionProblem(queries=24, keys=8, depth=64, operand="fp32")
    rest = (q, np.delete(k, 4, axis=1), np.delete(v, 4, axis=1))
    np.testing.assert_allclose(expected.o, reference(less, unit, *rest).o, rtol=1e-12)
    assert np.isfinite(expected.o_bound).all()


@pytest.mark.parametrize("is_extreme", [False, True])
def test_special_values_have_no_bound_and_scores_that_extremes_let_overflow(is_extreme):
    problem, unit, arrays = posed("ampere")
    arrays[0][0, 3] = 1000
    arrays[2][0, 0, 7] = np.inf
    bound = reference(problem, unit, *arrays, is_extreme=is_extreme).o_bound
    assert np.isinf(bound[0, :, 7]).all()
    bound[0, :, 7] = 0
    assert np.isinf(bound[0, 3, :7]).all() == is_extreme
    bound[0, 3] = 0
    assert np.isfinite(bound).all()


def test_scores_beyond_the_digits_of_fp32_have_no_bound():
    problem, unit, arrays = posed("virgo_fp32", scale=1.0)
    arrays[0][0, 3] *= 2.0**22
    expected = reference(problem, unit, *arrays)
    for bound in (expected.o_bound[0], expected.lse_bound[0]):
        assert np.isinf(bound[3]).all()
        assert np.isfinite(np.delete(bound, 3, axis=0)).all()


def test_shorter_blocks_widen_the_bound():
    problem, unit, arrays = posed("virgo_fp32")
    usual, single = (
        reference(problem, unit, *arrays, block=block).o_bound for block in (LEAST_BLOCK, 1)
    )
    assert (single > usual).all()
