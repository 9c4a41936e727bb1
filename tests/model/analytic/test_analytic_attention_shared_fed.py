"""Tests of the work of `attention` on tensor units fed by shared memory: blocks of warps."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.hgmma.plan import attention_plan
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.attention.shared_fed import core_blocks

HOPPER = PRESETS["hopper"]
SIZES = [(16, 64), (64, 64), (100, 150), (300, 300), (500, 70), (800, 200)]


def attention(queries, keys, **options):
    return AttentionProblem(**({"queries": queries, "keys": keys, "depth": 64} | options))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_each_warp_has_each_block_that_it_sees_once(sizes, depth, causal):
    problem = attention(*sizes, depth=depth, heads=2, causal=causal)
    plan, visible = attention_plan(HOPPER, depth), problem.visible()
    blocks = [0] * HOPPER.cores
    for row in range(0, problem.queries, 16):
        for key in range(0, problem.keys, plan.keys):
            core = row // 16 % HOPPER.cores
            blocks[core] += 2 * (key == 0 or bool(visible[row : row + 16, key].any()))
    assert core_blocks(HOPPER, problem) == blocks


def test_cores_have_equal_shares_of_long_runs():
    found = predict_attention(HOPPER, attention(1024, 1024))
    assert found.limits["unit"] == 256 * 2048 == found.traffic.active / HOPPER.cores
    assert found.traffic.products == 4 * 256 * 16
    assert sum(found.traffic.shared_read_bytes.values()) == 2048 * found.traffic.products
