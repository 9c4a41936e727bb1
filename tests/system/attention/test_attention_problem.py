"""Tests of attention problems: sizes, mask, multiply-adds, refused values, and their data."""

import numpy as np
import pytest

from spica.kernels.attention.data import KINDS, operands
from spica.kernels.attention.problem import OPERANDS, AttentionProblem
from spica.kernels.elements import dtype_of, values_of


def problem(**settings):
    """Return a small problem."""
    return AttentionProblem(**{"queries": 5, "keys": 7, "depth": 64} | settings)


@pytest.mark.parametrize("keys", [1, 3, 5, 9])
@pytest.mark.parametrize("queries", [1, 3, 5, 9])
def test_a_causal_query_sees_the_keys_up_to_its_place_from_the_end(queries, keys):
    masked = problem(queries=queries, keys=keys, causal=True, heads=3)
    seen = np.array(
        [[j <= i + keys - queries for j in range(keys)] for i in range(queries)], dtype=bool
    )
    assert np.array_equal(masked.visible(), seen)
    assert np.array_equal(masked.visible(1, 3), seen[1:3])
    assert masked.visible_pairs == np.count_nonzero(seen)
    assert masked.needed_macs == 2 * 64 * 3 * np.count_nonzero(seen)
    assert masked.macs == 2 * 64 * 3 * queries * keys
    full = problem(queries=queries, keys=keys, heads=3)
    assert full.visible().all() and full.visible().shape == (queries, keys)
    assert full.needed_macs == full.macs == masked.macs


def test_heads_share_keys_and_values():
    grouped = problem(batch=2, heads=6, kv_heads=3)
    assert (grouped.problems, grouped.group) == (12, 2)
    assert grouped.shapes == {
        "q": (12, 5, 64),
        "k": (6, 7, 64),
        "v": (6, 7, 64),
        "o": (12, 5, 64),
        "lse": (12, 5),
    }


def test_padding_is_no_work_and_does_not_change_the_scale():
    padded, whole = problem(columns=40), problem()
    assert padded.shapes == whole.shapes
    assert padded.exact_scale == 1 / np.sqrt(40)
    assert padded.needed_macs * 64 == whole.needed_macs * 40
    for kind in KINDS:
        assert not any(array[..., 40:].any() for array in operands(padded, kind, 1))


def test_the_scale_is_that_of_powers_of_two():
    assert problem().exact_scale == 1 / 8
    assert problem(depth=128).exact_scale == 1 / np.sqrt(128)
    assert problem(scale=2.0).scale_log2 == np.float32(2 / np.log(2))
    assert problem().scale_log2.dtype == np.float32


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"depth": 32}, "depth must be one of 64, 128, not 32"),
        ({"columns": 65}, "columns must be between 1 and 64, not 65"),
        ({"heads": 4, "kv_heads": 3}, "kv_heads must divide heads, 4, not 3"),
        ({"kv_heads": 2}, "kv_heads must divide heads, 1, not 2"),
        ({"keys": 0}, "keys must be between 1 and 67108864, not 0"),
        ({"queries": 1 << 21}, "q must have at most 67108864 elements, not 1 x 2097152 x 64 = "),
        ({"keys": 1 << 21}, "k must have at most 67108864 elements, not 1 x 2097152 x 64 = "),
        ({"scale": 0.0}, "scale must be above 0, not 0.0"),
        ({"scale": -1.0}, "scale must be above 0, not -1.0"),
        ({"scale": float("nan")}, "scale must be above 0, not nan"),
        ({"scale": 1e-40}, "scale must be a normal number in FP32 when multiplied by log2"),
        ({"scale": 3e38}, "scale must be a normal number in FP32 when multiplied by log2"),
        ({"operand": "int8"}, "operand must be one of fp16, bf16, fp32, not 'int8'"),
    ],
)
def test_impossible_problems_are_refused(settings, sentence):
    with pytest.raises(ValueError) as refusal:
        problem(**settings)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("operand", OPERANDS)
def test_data_have_the_values_that_their_kind_names(operand):
    posed = problem(batch=2, heads=2, queries=40, keys=50, operand=operand)
    arrays_of = {kind: operands(posed, kind, 3) for kind in KINDS}
    for arrays in arrays_of.values():
        for name, x in zip("qkv", arrays, strict=True):
            assert (x.shape, x.dtype) == (posed.shapes[name], dtype_of(operand))
    values = {kind: [values_of(x, operand) for x in arrays] for kind, arrays in arrays_of.items()}
    assert 0.9 < np.std(values["random"][0]) < 1.1
    scores = values["large"][0][0] @ values["large"][1][0].T / 8
    assert np.abs(scores).max() > 100
    assert np.abs(scores[:, -10:]).mean() > 3 * np.abs(scores[:, :10]).mean()
    assert not values["zeros"][0].any() and not values["zeros"][1].any()
    assert values["zeros"][2].all()
    q, k, v = values["extreme"]
    assert np.isnan(q).any() and np.isinf(q).any() and np.isfinite(q).all(axis=2).sum() > 80
    assert np.isfinite(k).all() and (k == 0).all(axis=2).any()
    assert np.isinf(v[-1, :, 0]).sum() == np.isnan(v[-1, :, 1]).sum() == 1
    assert (arrays_of["random"][0] != operands(posed, "random", 4)[0]).any()


def test_unknown_data_are_refused():
    with pytest.raises(ValueError, match="data must be one of random, large, zeros, extreme, not"):
        operands(problem(), "integers", 1)
