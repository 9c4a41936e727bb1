"""Attention on tensor units fed by registers, bit by bit against the golden model."""

import dataclasses

import numpy as np
import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.cores import attention_kernel, pose
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


def run(preset, queries, depth=64, *, seed=1, engine="iss", schedule="round_robin", **options):
    """Run attention and return its result."""
    config = PRESETS[preset]
    kernel = exact_kernel(config, **options)
    sizes = {"queries": queries, "depth": depth}
    settings = SimtOptions(engine=engine, schedule=schedule, seed=seed)
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
