"""Tests of the analytic model of `attention`: machines and sizes that it describes, against RTL."""

import dataclasses

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.attention.cores import attention_unit
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention.prediction import STYLES, predict_attention
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import exact_attention_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

VIRGO = PRESETS["virgo"]
DESCRIBED = [(*machine, style) for style in STYLES.values() for machine in style.PROGRAMS]


def attention(preset, queries, keys=None, **options):
    sizes = {"queries": queries, "keys": keys or queries, "depth": 64}
    operand = attention_unit(PRESETS[preset]).operand
    return AttentionProblem(operand=operand, **(sizes | options))


@pytest.mark.parametrize(("preset", "depth", "style"), DESCRIBED)
@pytest.mark.parametrize("sizes", [(16, 64), (64, 64), (65, 200), (256, 64), (500, 500)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_cycles_are_the_sum_of_terms(preset, depth, style, sizes, causal):
    problem = attention(preset, *sizes, depth=depth, causal=causal)
    found = predict_attention(PRESETS[preset], problem)
    assert set(found.terms) == set(style.TERMS)
    assert found.cycles == sum(found.terms.values())
    assert min(found.terms.values()) >= 0
    assert found.terms["multiply"] * len(active_units(PRESETS[preset])) >= found.traffic.active


def active_units(config):
    """Return the units that multiply: the first matrix unit, or one of each core."""
    return range(1 if config.units else config.cores)


@pytest.mark.parametrize(("preset", "depth", "style"), DESCRIBED)
def test_each_head_adds_the_same_work(preset, depth, style):
    one, three = (
        predict_attention(PRESETS[preset], attention(preset, 192, depth=depth, heads=n)).traffic
        for n in (1, 3)
    )
    assert three.active == 3 * one.active
    assert three.products == 3 * one.products
    assert three.dma_read_bytes == 3 * one.dma_read_bytes
    for requester, count in one.shared_read_bytes.items():
        assert three.shared_read_bytes[requester] == 3 * count


@pytest.mark.parametrize(("preset", "depth", "style"), DESCRIBED)
def test_a_causal_mask_saves_blocks(preset, depth, style):
    full, causal = (
        predict_attention(PRESETS[preset], attention(preset, 2048, depth=depth, causal=causal))
        for causal in (False, True)
    )
    assert 0.5 < causal.traffic.active / full.traffic.active < 0.6
    assert 0.5 < causal.cycles / full.cycles < 0.8


@pytest.mark.parametrize(
    ("config", "options", "memory", "message"),
    [
        (PRESETS["tiny_matrix"], {}, None, "needs a preset without changes, virgo or virgo_fp32"),
        (dataclasses.replace(VIRGO, cores=2), {}, None, "needs a preset without changes"),
        (VIRGO, {"queries": 15}, None, "needs 16 queries or more, not 15"),
        (VIRGO, {"keys": 63}, None, "needs 64 keys or more, not 63"),
        (VIRGO, {"overwrites": True}, None, "needs an O that accumulates"),
        (VIRGO, {}, DramConfig(latency=200), "needs the default timing of DRAM"),
    ],
    ids=["preset", "cores", "queries", "keys", "overwrites", "memory"],
)
def test_what_was_not_measured_is_refused(config, options, memory, message):
    with pytest.raises(UserError, match=message):
        predict_attention(config, attention("virgo", **({"queries": 128} | options)), memory)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "queries", "options"),
    [
        ("hopper", 64, {}),
        *(
            (preset, queries, {"depth": depth} | options)
            for preset, depth, _ in DESCRIBED
            for queries, options in ((128, {"causal": True}), (100, {"keys": 150}))
        ),
    ],
    ids=str,
)
def test_work_is_exact_and_cycles_are_within_ten_percent_of_rtl(preset, queries, options):
    config, problem = PRESETS[preset], attention(preset, queries, **options)
    settings = SimtOptions(engine="verilator", lockstep=False, memory=DramConfig())
    kernel = exact_attention_kernel(config, causal=problem.causal)
    sizes = {"queries": queries, "keys": problem.keys, "depth": problem.depth}
    result = run_workload(KernelWorkload(kernel, sizes), preset, config, settings)
    assert result["check"]["verdict"] == "pass", result["check"]
    found = predict_attention(config, problem)
    require_prediction(config, found, result, cycles=0.1, is_product=False)
