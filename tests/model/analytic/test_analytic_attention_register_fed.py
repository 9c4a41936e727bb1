"""Tests of the analytic model of `attention` on tensor units fed by registers: halves of blocks."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.problem import AttentionProblem
from spica.kernels.attention.tensor.plan import attention_plan
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.attention.register_fed_steps import core_halves

FORMATS = {"ampere": "fp16", "volta": "fp16", "ampere_fp32": "fp32"}
SIZES = [(16, 64), (64, 64), (100, 150), (300, 300), (500, 70), (600, 200)]


def attention(preset, queries, keys, **options):
    sizes = {"queries": queries, "keys": keys, "depth": 64}
    return AttentionProblem(operand=FORMATS[preset], **(sizes | options))


def halves_of(preset, problem):
    plan = attention_plan(PRESETS[preset], problem.depth)
    return plan, list(core_halves(plan, problem))


@pytest.mark.parametrize(
    ("preset", "depth", "expected"),
    [
        ("ampere", 64, (6, 64, 384, False, False)),
        ("ampere", 128, (4, 64, 256, False, False)),
        ("ampere_fp32", 64, (8, 64, 256, True, True)),
        ("ampere_fp32", 128, (8, 32, 256, True, False)),
    ],
)
def test_plan_is_that_of_the_program(preset, depth, expected):
    plan = attention_plan(PRESETS[preset], depth)
    found = (plan.warps, plan.keys, plan.rows, plan.has_queries, plan.has_output)
    assert found == expected


@pytest.mark.parametrize("preset", ["ampere", "ampere_fp32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_each_warp_has_each_block_that_it_sees_once(preset, sizes, causal):
    problem = attention(preset, *sizes, heads=2, causal=causal)
    plan, halves = halves_of(preset, problem)
    visible = problem.visible()
    warps = range(0, problem.queries, 8)
    blocks = masked = 0
    for row in warps:
        for key in range(0, problem.keys, plan.keys):
            if key and not visible[row : row + 8, key].any():
                continue
            blocks += 1
            for chunk in range(key, key + plan.keys, 16):
                masked += chunk + 16 > problem.keys or not visible[row, chunk : chunk + 16].all()
    cores = [core for half in halves for core in half]
    assert sum(core.scores for core in cores) == 2 * blocks
    assert sum(core.outputs for core in cores) == 2 * blocks
    assert sum(core.masked for core in cores) == 2 * masked
    assert sum(core.begins for core in cores) == 2 * len(warps)
    assert sum(core.ends for core in cores) == 2 * len(warps)


def test_groups_of_warps_alternate():
    """Warps 0, 2 and 4 of a core have the scores of a block first, then the others have them."""
    _, halves = halves_of("ampere", attention("ampere", 384, 128))
    assert [half[0].scores for half in halves] == [3, 3, 3, 3, 0]
    assert [half[0].outputs for half in halves] == [0, 3, 3, 3, 3]
    _, halves = halves_of("ampere", attention("ampere", 64, 128))
    assert [half[0].scores for half in halves] == [1, 0, 1, 0, 0]
    assert [half[0].outputs for half in halves] == [0, 1, 0, 1, 0]


def test_volta_runs_the_program_of_ampere():
    problem = attention("ampere", 200, 300)
    found = [predict_attention(PRESETS[name], problem) for name in ("ampere", "volta")]
    assert found[0] == found[1]
    assert found[0].traffic.dma_read_bytes == 0


def test_bytes_of_rows_are_those_of_fragments_accumulators_and_exchanges():
    """A row has a word of 4 bytes for each of 8 lanes."""
    found = predict_attention(PRESETS["ampere"], attention("ampere", 64, 64)).traffic
    keys, kept, powers_and_values, exchanges = 16 * 16, 3 * 16, 16 * 24, 2 + 2
    assert found.shared_read_bytes == {
        "rows": 8 * (keys + kept + powers_and_values + exchanges) * 32
    }
    values = 64 // 2 * 64 * 4 // 32  # words of two keys
    assert found.shared_written_bytes == {"rows": (8 * (kept + exchanges) + values) * 32}
    found = predict_attention(PRESETS["ampere_fp32"], attention("ampere_fp32", 64, 128)).traffic
    queries, output = 64 * 4 * 8 // 32, 4 * 16
    blocks = 2 * (2 * keys + keys + kept + 32 * 24 + 2)
    assert found.shared_read_bytes == {"rows": 8 * (blocks + 2 * output + 2) * 32}
    blocks = 2 * (kept + 2 + 2 * 4 * 16 + output)
    values = 2 * 64 * 64 * 4 // 32
    assert found.shared_written_bytes == {"rows": (8 * (queries + blocks + 2) + values) * 32}
