"""Tests of the work of `attention`: machines and sizes that the model describes, against RTL."""

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.attention.cores import attention_unit
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import exact_attention_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

VIRGO = PRESETS["virgo"]
DESCRIBED = [
    (preset, depth)
    for preset in ("virgo", "virgo_fp32", "hopper", "ampere", "ampere_fp32", "volta")
    for depth in (64, 128)
]


def attention(preset, queries, keys=None, **options):
    sizes = {"queries": queries, "keys": keys or queries, "depth": 64}
    operand = attention_unit(PRESETS[preset]).operand
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
    found = predict_attention(config, problem)
    require_prediction(config, found, result)
