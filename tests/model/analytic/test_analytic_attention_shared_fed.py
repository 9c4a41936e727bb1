"""Tests of the analytic model of `attention` on tensor units fed by shared memory: rounds."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.hgmma.plan import attention_plan
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.attention.shared_fed import PROGRAMS, block_cycles
from spica.sim.analytic.attention.shared_fed_steps import CoreBlock, core_rounds

HOPPER = PRESETS["hopper"]
SIZES = [(16, 64), (64, 64), (100, 150), (300, 300), (500, 70), (800, 200)]


def attention(queries, keys, **options):
    return AttentionProblem(**({"queries": queries, "keys": keys, "depth": 64} | options))


def rounds_of(problem):
    plan = attention_plan(HOPPER, problem.depth)
    return plan, list(core_rounds(HOPPER, plan, problem))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_each_warp_has_each_block_that_it_sees_once(sizes, depth, causal):
    problem = attention(*sizes, depth=depth, heads=2, causal=causal)
    plan, rounds = rounds_of(problem)
    visible = problem.visible()
    blocks = sum(
        key == 0 or bool(visible[row : row + 16, key].any())
        for row in range(0, problem.queries, 16)
        for key in range(0, problem.keys, plan.keys)
    )
    found = sum(core.warps for one in rounds for cores in one.blocks for core in cores)
    assert found == 2 * blocks
    assert len(rounds) == 2 * -(-problem.queries // (16 * HOPPER.cores * plan.warps))


def test_hidden_keys_are_in_the_last_blocks():
    _, (one,) = rounds_of(attention(384, 150))
    assert [[core.masked for core in cores] for cores in one.blocks] == [[0] * 4, [0] * 4, [3] * 4]
    _, (one,) = rounds_of(attention(384, 384, causal=True))
    assert [core.masked for core in one.blocks[0]] == [4, 3, 2, 1]
    assert [cores[0].warps for cores in one.blocks] == [6, 5, 4, 3, 2, 1]


def test_a_warp_alone_is_bound_by_its_chain_and_many_by_the_unit():
    program, multiply = PROGRAMS["hopper", 64], 2048
    one, six = (block_cycles(program, multiply, CoreBlock(warps=n, masked=0)) for n in (1, 6))
    assert program.chain < one < 1.03 * program.chain
    assert 6 * multiply < six < 1.05 * 6 * multiply
    assert block_cycles(program, multiply, CoreBlock(warps=0, masked=0)) == 0


def test_most_cycles_of_long_runs_are_products():
    found = predict_attention(HOPPER, attention(1024, 1024))
    assert found.terms["multiply"] == 256 * 2048 == found.traffic.active / HOPPER.cores
    assert found.traffic.products == 4 * 256 * 16
    assert sum(found.traffic.shared_read_bytes.values()) == 2048 * found.traffic.products
    assert found.terms["multiply"] / found.cycles > 0.85
