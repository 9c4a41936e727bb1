"""Tests of the analytic model of `attention`: rows, steps, blocks of warps, and RTL."""

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.attention.problem import AttentionProblem
from spica.kernels.attention.register_fed.plan import attention_plan as register_fed_plan
from spica.kernels.attention.shared_fed.plan import attention_plan as shared_fed_plan
from spica.kernels.gemm.target import product_unit
from spica.sim.analytic.attention.cluster_array import attention_steps
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.attention.register_fed.steps import core_halves
from spica.sim.analytic.attention.shared_fed import core_blocks
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import exact_attention_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

VIRGO, HOPPER = PRESETS["virgo"], PRESETS["hopper"]
DESCRIBED = [
    (preset, depth)
    for preset in ("virgo", "virgo_fp32", "hopper", "ampere", "ampere_fp32", "volta")
    for depth in (64, 128)
]
SIZES = [(16, 64), (64, 64), (100, 150), (300, 300), (500, 70), (600, 200)]


def attention(preset, queries, keys=None, **options):
    sizes = {"queries": queries, "keys": keys or queries, "depth": 64}
    operand = product_unit(PRESETS[preset]).operand
    return AttentionProblem(operand=operand, **(sizes | options))


@pytest.mark.parametrize(("preset", "depth"), DESCRIBED)
def test_each_head_adds_the_same_work(preset, depth):
    one, three = (
        predict_attention(PRESETS[preset], attention(preset, 192, depth=depth, heads=n)).traffic
        for n in (1, 3)
    )
    assert three.active == 3 * one.active
    assert three.products == 3 * one.products
    assert three.dma_read_bytes == 3 * one.dma_read_bytes
    for requester, count in one.shared_read_bytes.items():
        assert three.shared_read_bytes[requester] == 3 * count


@pytest.mark.parametrize(("preset", "depth"), DESCRIBED)
def test_a_causal_mask_saves_blocks(preset, depth):
    full, causal = (
        predict_attention(PRESETS[preset], attention(preset, 2048, depth=depth, causal=causal))
        for causal in (False, True)
    )
    assert 0.5 < causal.traffic.active / full.traffic.active < 0.6
    assert 0.5 < causal.least_cycles / full.least_cycles < 0.6


def test_what_the_model_does_not_describe_is_refused():
    with pytest.raises(UserError, match="needs an O that accumulates"):
        predict_attention(VIRGO, attention("virgo", 128, overwrites=True))
    with pytest.raises(UserError):
        predict_attention(PRESETS["core"], attention("virgo", 128))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "queries", "options"),
    [
        ("hopper", 64, {}),
        *(
            (preset, queries, {"depth": depth} | options)
            for preset, depth in DESCRIBED
            for queries, options in (
                (128, {"causal": True}),
                (100, {"keys": 150}),
                (7, {"keys": 9}),
            )
        ),
    ],
    ids=str,
)
def test_work_is_exact(preset, queries, options):
    config, problem = PRESETS[preset], attention(preset, queries, **options)
    settings = SimtOptions(engine="verilator", lockstep=False, memory=DramConfig())
    kernel = exact_attention_kernel(config, causal=problem.causal)
    sizes = {"queries": queries, "keys": problem.keys, "depth": problem.depth}
    result = run_workload(KernelWorkload(kernel, sizes), preset, config, settings)
    assert result["check"]["verdict"] == "pass", result["check"]
    prediction = predict_attention(config, problem)
    require_prediction(config, prediction, result)


@pytest.mark.parametrize(("preset", "depth"), DESCRIBED[:4])
@pytest.mark.parametrize("sizes", [(16, 64), (64, 64), (65, 200), (256, 64), (300, 300)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_active_cycles_are_the_rows_of_the_steps(preset, depth, sizes, causal):
    config, problem = PRESETS[preset], attention(preset, *sizes, depth=depth, causal=causal)
    prediction = predict_attention(config, problem)
    steps = list(attention_steps(config, problem))
    rows = sum(step.scores + step.output + step.division for step in steps)
    assert prediction.limits["unit"] == prediction.traffic.active == rows


def test_whole_blocks_multiply_as_fast_as_the_array_and_zeros_divide():
    prediction = predict_attention(VIRGO, attention("virgo", 1024))
    assert prediction.traffic.active == 256 * 2 * 64 * 64 * 64 // 16**2 + 16 * 64 * 64 // 16


def test_causal_blocks_after_the_diagonal_are_skipped():
    steps = list(attention_steps(VIRGO, attention("virgo", 1024, causal=True)))
    assert len(steps) == 136
    assert sum(step.is_last for step in steps) == 16


def test_bytes_of_the_unit_are_those_of_operands_zeros_and_scales():
    traffic = predict_attention(VIRGO, attention("virgo", 64, 128)).traffic
    k = q = p = v = 64 * 64 * 2
    zeros, scales = 64 * 2, 64 * 4
    assert traffic.shared_read_bytes == {
        "a": 2 * (4 * k + 4 * p) + 4 * zeros + scales,
        "b": 2 * (q + v) + zeros,
    }
    traffic = predict_attention(PRESETS["virgo_fp32"], attention("virgo_fp32", 32, 128)).traffic
    assert traffic.shared_read_bytes["a"] == (
        2 * (4 * 64 * 64 * 4 + 8 * 64 * 32 * 4) + 8 * 32 * 4 + 2 * 32 * 4
    )


def halves_of(preset, problem):
    plan = register_fed_plan(PRESETS[preset], problem.depth)
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
    plan = register_fed_plan(PRESETS[preset], depth)
    layout = (plan.warps, plan.keys, plan.rows, plan.has_queries, plan.has_output)
    assert layout == expected


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
    predictions = [predict_attention(PRESETS[name], problem) for name in ("ampere", "volta")]
    assert predictions[0] == predictions[1]
    assert predictions[0].traffic.dma_read_bytes == 0


def test_bytes_of_rows_are_those_of_fragments_accumulators_and_exchanges():
    """A row has a word of 4 bytes for each of 8 lanes."""
    traffic = predict_attention(PRESETS["ampere"], attention("ampere", 64, 64)).traffic
    keys, accumulators, powers_and_values, exchanges = 16 * 16, 3 * 16, 16 * 24, 2 + 2
    assert traffic.shared_read_bytes == {
        "rows": 8 * (keys + accumulators + powers_and_values + exchanges) * 32
    }
    values = 64 // 2 * 64 * 4 // 32  # words of two keys
    assert traffic.shared_written_bytes == {"rows": (8 * (accumulators + exchanges) + values) * 32}
    traffic = predict_attention(PRESETS["ampere_fp32"], attention("ampere_fp32", 64, 128)).traffic
    queries, output = 64 * 4 * 8 // 32, 4 * 16
    blocks = 2 * (2 * keys + keys + accumulators + 32 * 24 + 2)
    assert traffic.shared_read_bytes == {"rows": 8 * (blocks + 2 * output + 2) * 32}
    blocks = 2 * (accumulators + 2 + 2 * 4 * 16 + output)
    values = 2 * 64 * 64 * 4 // 32
    assert traffic.shared_written_bytes == {"rows": (8 * (queries + blocks + 2) + values) * 32}


@pytest.mark.parametrize("sizes", [*SIZES[:-1], (800, 200)], ids=str)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_each_warp_of_hopper_has_each_block_that_it_sees_once(sizes, depth, causal):
    problem = attention("hopper", *sizes, depth=depth, heads=2, causal=causal)
    plan, visible = shared_fed_plan(HOPPER, depth), problem.visible()
    blocks = [0] * HOPPER.cores
    for row in range(0, problem.queries, 16):
        for key in range(0, problem.keys, plan.keys):
            core = row // 16 % HOPPER.cores
            blocks[core] += 2 * (key == 0 or bool(visible[row : row + 16, key].any()))
    assert core_blocks(HOPPER, problem) == blocks


def test_cores_have_equal_shares_of_long_runs():
    prediction = predict_attention(HOPPER, attention("hopper", 1024))
    assert prediction.limits["unit"] == 256 * 2048 == prediction.traffic.active / HOPPER.cores
    assert prediction.traffic.products == 4 * 256 * 16
    assert sum(prediction.traffic.shared_read_bytes.values()) == 2048 * prediction.traffic.products
