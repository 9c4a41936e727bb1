"""Tests of the analytic model of `attention` on a matrix unit: rows and steps."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.matrix_fed import attention_steps
from spica.sim.analytic.attention.prediction import predict_attention

VIRGO = PRESETS["virgo"]
FORMATS = {"virgo": "fp16", "virgo_fp32": "fp32"}
MACHINES = [(preset, depth) for preset in FORMATS for depth in (64, 128)]


def attention(preset, queries, keys=None, **options):
    sizes = {"queries": queries, "keys": keys or queries, "depth": 64}
    return AttentionProblem(operand=FORMATS[preset], **(sizes | options))


@pytest.mark.parametrize(("preset", "depth"), MACHINES)
@pytest.mark.parametrize("sizes", [(16, 64), (64, 64), (65, 200), (256, 64), (300, 300)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_active_cycles_are_the_rows_of_the_steps(preset, depth, sizes, causal):
    config, problem = PRESETS[preset], attention(preset, *sizes, depth=depth, causal=causal)
    found = predict_attention(config, problem)
    steps = list(attention_steps(config, problem))
    rows = sum(step.scores + step.output + step.division for step in steps)
    assert found.limits["unit"] == found.traffic.active == rows


def test_whole_blocks_multiply_as_fast_as_the_array_and_zeros_divide():
    found = predict_attention(VIRGO, attention("virgo", 1024))
    assert found.traffic.active == 256 * 2 * 64 * 64 * 64 // 16**2 + 16 * 64 * 64 // 16


def test_causal_blocks_after_the_diagonal_are_skipped():
    steps = list(attention_steps(VIRGO, attention("virgo", 1024, causal=True)))
    assert len(steps) == 136
    assert sum(step.is_last for step in steps) == 16


def test_bytes_of_the_unit_are_those_of_operands_zeros_and_scales():
    found = predict_attention(VIRGO, attention("virgo", 64, 128)).traffic
    k = q = p = v = 64 * 64 * 2
    zeros, scales = 64 * 2, 64 * 4
    assert found.shared_read_bytes == {
        "a": 2 * (4 * k + 4 * p) + 4 * zeros + scales,
        "b": 2 * (q + v) + zeros,
    }
    found = predict_attention(PRESETS["virgo_fp32"], attention("virgo_fp32", 32, 128)).traffic
    assert found.shared_read_bytes["a"] == (
        2 * (4 * 64 * 64 * 4 + 8 * 64 * 32 * 4) + 8 * 32 * 4 + 2 * 32 * 4
    )
