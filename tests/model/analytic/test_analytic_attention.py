"""Tests of the analytic model of `attention` on a matrix unit, against RTL."""

import dataclasses

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.attention.problem import AttentionProblem
from spica.sim.analytic.attention import TERMS, cores_cycles, predict_attention
from spica.sim.analytic.attention_program import PROGRAMS
from spica.sim.analytic.attention_steps import attention_steps
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import exact_attention_kernel
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

VIRGO = PRESETS["virgo"]
FORMATS = {"virgo": "fp16", "virgo_fp32": "fp32"}


def attention(preset, queries, keys=None, **options):
    sizes = {"queries": queries, "keys": keys or queries, "depth": 64}
    return AttentionProblem(operand=FORMATS[preset], **(sizes | options))


@pytest.mark.parametrize("preset", PROGRAMS)
@pytest.mark.parametrize("sizes", [(16, 64), (64, 64), (65, 200), (256, 64), (300, 300)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_cycles_are_the_sum_of_terms_and_rows_those_of_the_steps(preset, sizes, causal):
    config, problem = PRESETS[preset], attention(preset, *sizes, causal=causal)
    found = predict_attention(config, problem)
    assert set(found.terms) == set(TERMS)
    assert found.cycles == sum(found.terms.values())
    assert min(found.terms.values()) >= 0
    steps = list(attention_steps(config, problem))
    assert found.active == sum(step.scores + step.output + step.division for step in steps)


def test_whole_blocks_multiply_as_fast_as_the_array_and_zeros_divide():
    found = predict_attention(VIRGO, attention("virgo", 1024))
    assert found.active == 256 * 2 * 64 * 64 * 64 // 16**2 + 16 * 64 * 64 // 16


def test_causal_blocks_after_the_diagonal_are_skipped_and_those_on_it_masked():
    steps = list(attention_steps(VIRGO, attention("virgo", 1024, causal=True)))
    assert len(steps) == 136
    assert sum(step.is_masked for step in steps) == sum(step.is_last for step in steps) == 16


@pytest.mark.parametrize("preset", PROGRAMS)
def test_usual_steps_are_bound_by_the_unit(preset):
    usual = list(attention_steps(PRESETS[preset], attention(preset, 64, 256)))[1]
    assert cores_cycles(PROGRAMS[preset], usual, 1) < usual.scores + usual.output


def test_each_head_adds_the_same_rows():
    one = predict_attention(VIRGO, attention("virgo", 192))
    three = predict_attention(VIRGO, attention("virgo", 192, heads=3, kv_heads=1))
    assert three.active == 3 * one.active


@pytest.mark.parametrize(
    ("config", "options", "memory", "message"),
    [
        (PRESETS["hopper"], {}, None, "needs a preset without changes, virgo"),
        (dataclasses.replace(VIRGO, cores=2), {}, None, "needs a preset without changes"),
        (VIRGO, {"depth": 128}, None, "needs depth 64, not 128"),
        (VIRGO, {"queries": 15}, None, "needs 16 queries or more, not 15"),
        (VIRGO, {"keys": 63}, None, "needs 64 keys or more, not 63"),
        (VIRGO, {"overwrites": True}, None, "needs an O that accumulates"),
        (VIRGO, {}, DramConfig(latency=200), "needs the default timing of DRAM"),
    ],
    ids=["hopper", "cores", "depth", "queries", "keys", "overwrites", "memory"],
)
def test_what_was_not_measured_is_refused(config, options, memory, message):
    with pytest.raises(UserError, match=message):
        predict_attention(config, attention("virgo", **({"queries": 128} | options)), memory)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PROGRAMS)
@pytest.mark.parametrize("causal", [False, True])
def test_rows_are_exact_and_cycles_within_ten_percent_of_rtl(preset, causal):
    config = PRESETS[preset]
    options = SimtOptions(engine="verilator", lockstep=False, memory=DramConfig())
    workload = KernelWorkload(
        exact_attention_kernel(config, causal=causal), {"queries": 128, "depth": 64}
    )
    result = run_workload(workload, preset, config, options)
    assert result["check"]["verdict"] == "pass", result["check"]
    found = predict_attention(config, attention(preset, 128, causal=causal))
    assert found.active == result["counters"]["matrix_active"]
    assert found.cycles == pytest.approx(result["cycles"], rel=0.1)
    assert result["prediction"] == {
        "cycles": found.cycles,
        "difference": found.cycles / result["cycles"] - 1,
        "terms": found.terms,
    }
