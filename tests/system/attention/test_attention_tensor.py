"""Attention on tensor units fed by registers, bit by bit against the golden model."""

import dataclasses
import shutil

import numpy as np
import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.cores import attention_kernel, pose
from spica.sim.diagnose.diagnostics import ProgramError
from spica.sim.golden.attention.tensor import attention
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

MACHINES = ("ampere_fp32", "ampere")


def exact_kernel(config, **options):
    """Return the kernel with O and LSE also checked bit by bit."""

    def posed(rng, **sizes):
        problem, heads = pose(config, rng, **sizes, **options)
        q, k, v = (problem.buffers[name].data for name in "qkv")
        buffers = dict(problem.buffers)
        for name, bits in zip(("o", "lse"), attention(config, heads, q, k, v), strict=True):
            buffers[name] = dataclasses.replace(buffers[name], bits=bits)
        return dataclasses.replace(problem, buffers=buffers)

    return dataclasses.replace(attention_kernel(config, **options), pose=posed)


def run(
    preset,
    queries,
    depth=64,
    *,
    seed=1,
    engine="iss",
    schedule="round_robin",
    check=None,
    **options,
):
    """Run attention and return its result."""
    config = PRESETS[preset]
    kernel = exact_kernel(config, **options)
    sizes = {"queries": queries, "depth": depth}
    settings = SimtOptions(engine=engine, schedule=schedule, check=check, seed=seed)
    return run_workload(KernelWorkload(kernel, sizes), "machine", config, settings)


def assert_right(result):
    assert result["check"]["verdict"] == "pass", result["check"]
    assert result["check"]["code_warnings"] == []


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("queries", [1, 63, 64, 65])
@pytest.mark.parametrize("preset", MACHINES)
def test_lengths_around_a_block(preset, queries, depth):
    assert_right(run(preset, queries, depth))


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("queries, keys", [(9, 200), (150, 40)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("preset", MACHINES)
def test_queries_and_keys_differ(preset, causal, queries, keys, depth):
    """With fewer keys than queries, the first rows of a causal mask see none."""
    result = run(preset, queries, depth, keys=keys, causal=causal)
    assert_right(result)


@pytest.mark.parametrize("data", ["large", "zeros"])
@pytest.mark.parametrize("preset", MACHINES)
def test_special_values(preset, data):
    """Large scores change the maxima often; FP16 keeps those that change little."""
    assert_right(run(preset, 70, keys=300, data=data))


@pytest.mark.parametrize("preset", MACHINES)
def test_extreme_values_to_the_bit(preset):
    """Rounding errors of FP32 scores of 1e25 exceed the range of a power, also in the model."""
    result = run(preset, 70, keys=300, data="extreme")
    assert [result["check"]["buffers"][name]["mismatches"] for name in ("o", "lse")] == [0, 0]


@pytest.mark.parametrize("preset", MACHINES)
def test_grouped_heads(preset):
    assert_right(run(preset, 20, keys=70, batch=2, heads=4, kv_heads=2, causal=True))


@pytest.mark.parametrize("preset", MACHINES)
def test_several_tiles_of_queries(preset):
    """All warps together have 256 queries of `ampere_fp32`, and 384 of `ampere`."""
    assert_right(run(preset, 400, keys=33, causal=True))


@pytest.mark.parametrize("preset", MACHINES)
def test_rows_without_keys(preset):
    """Queries that see no key have O = 0 and LSE = -infinity."""
    queries, keys, depth = 100, 30, 64
    config = PRESETS[preset]
    kernel = exact_kernel(config, keys=keys, causal=True)
    problem = kernel.problem({"queries": queries, "depth": depth}, seed=1)
    o, lse = (problem.buffers[name].bits for name in ("o", "lse"))
    blind = queries - keys
    assert not o[0, :blind].any()
    assert np.all(lse[0, :blind] == -np.inf)
    assert np.all(np.isfinite(lse[0, blind:]))


@pytest.mark.parametrize("preset", MACHINES)
def test_nan_stays_in_its_row(preset):
    config = PRESETS[preset]
    rng = np.random.default_rng(5)
    element = np.float32 if config.tensor_units.operand == "fp32" else np.float16
    q, k, v = (rng.standard_normal((1, 40, 64)).astype(element) for _ in range(3))
    q[0, 13, 5] = np.nan
    result = run(preset, 40, given=(q, k, v))
    assert_right(result)
    problem = exact_kernel(config, given=(q, k, v)).problem({"queries": 40, "depth": 64}, seed=1)
    is_nan = np.isnan(problem.buffers["o"].bits[0].astype(np.float32))
    assert is_nan[13].all()
    assert is_nan.sum() == 64


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("preset", MACHINES)
def test_no_order_of_warps_does_harm(preset, seed):
    assert_right(run(preset, 300, keys=200, schedule="random", seed=seed))


@pytest.mark.parametrize("preset", MACHINES)
def test_no_races(preset):
    assert_right(run(preset, 80, keys=200, causal=True, check="races"))


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("preset", MACHINES)
def test_long_sequence(preset, causal):
    assert_right(run(preset, 1000, causal=causal))


@pytest.mark.slow
@pytest.mark.parametrize("preset", MACHINES)
def test_rtl_in_lockstep(preset):
    result = run(preset, 20, keys=100, causal=True, engine="verilator")
    assert_right(result)
    assert result["check"]["code_warnings"] == []


AMPERE = PRESETS["ampere"]
#: Further machines, and macros of the program for them.
OTHERS = {
    "no DMA": (PRESETS["volta"], ()),
    "three cores": (dataclasses.replace(AMPERE, cores=3, barrier_scope="core"), ()),
    "bf16": (
        dataclasses.replace(
            AMPERE,
            core=dataclasses.replace(
                AMPERE.core, tensor_numerics="nvidia(ampere)", tensor_operand="bf16"
            ),
        ),
        ("ATTENTION_BF16",),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_machines(name):
    config, defines = OTHERS[name]
    workload = KernelWorkload(
        exact_kernel(config, keys=100, causal=True), {"queries": 70, "depth": 64}
    )
    assert_right(run_workload(workload, "machine", config, SimtOptions(defines=defines)))


#: Machines, and statements of the program, each with a fault that a result must show.
FAULTS = [
    ("ampere_fp32", "attention_softmax.h", "is_hidden = q & 2 ?", "is_hidden = q & 4 ?"),
    ("ampere_fp32", "attention_softmax.h", "(uint32_t)room ^ 8", "(uint32_t)room ^ 4"),
    ("ampere_fp32", "attention_softmax.h", "fmul.s f4, f4, f6", "fmul.s f4, f4, f5"),
    ("ampere_fp32", "attention_tensor.h", "spica_meet(0, ATTENTION_WARPS);", ""),
    ("ampere_fp32", "attention_tensor.h", "at += group;", ""),
    ("ampere_fp32", "attention_copy.h", "if (key + i < keys)", "if (key + i <= keys)"),
    ("ampere", "attention_tensor.h", " | (factor.second != one)", ""),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[2])
def test_faults_are_detected(fault, tmp_path):
    preset, name, old, new = fault
    config = PRESETS[preset]
    kernel = exact_kernel(config, keys=100, causal=True, data="large")
    folder = tmp_path / "tensor"
    shutil.copytree(kernel.sources[0].parent, folder)
    shutil.copy(kernel.sources[0].parent.parent / "attention.h", tmp_path)
    text = (folder / name).read_text()
    assert text.count(old) == 1
    (folder / name).write_text(text.replace(old, new))
    broken = dataclasses.replace(kernel, folder=folder)
    options = SimtOptions(schedule="random", seed=2)
    workload = KernelWorkload(broken, {"queries": 120, "depth": 64})
    try:
        result = run_workload(workload, "machine", config, options)
    except ProgramError:
        return
    assert result["check"]["verdict"] == "fail"
