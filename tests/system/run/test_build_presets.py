"""Tests that both kinds of models give the same results, timelines and traces."""

import pytest

from spica.hw.presets import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.engine.verilator_engine import GATINGS
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run import product_workload, rtl_executor
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import RunOptions, SimtOptions
from spica.sim.run.product_workload import ProductWorkload
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from spica.sim.trace import OVERVIEW_SUFFIXES, TRACE_SUFFIXES
from support.runs import passed, run_kernel

#: Handshakes stall at random, so that units sleep and wake often.
MEMORY = DramConfig(latency=37, stall=0.2, seed=5)
SIZES = {"m": 20, "n": 24, "k": 40}


def workload(config):
    """Return a short workload that occupies as many blocks of a machine as possible."""
    if not config.cores:
        return ProductWorkload(**SIZES)
    if config.has_product_units:
        return KernelWorkload(EXACT_KERNELS["gemm"](config), SIZES)
    return KernelWorkload(find_kernel("vecadd"), {"n": 300})


@pytest.mark.slow
@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("preset", PRESETS)
def test_both_kinds_of_models_agree_on_every_preset(preset, gating, tmp_path, monkeypatch):
    config, seen = PRESETS[preset], {}
    options = SimtOptions if config.cores else RunOptions
    for is_composed in (False, True):
        for module in (product_workload, rtl_executor):
            monkeypatch.setattr(module, "composed", lambda *_, kind=is_composed: kind)
        trace = tmp_path / f"{is_composed}.json"
        chosen = options(
            engine="verilator",
            memory=MEMORY,
            gating=gating,
            seed=3,
            trace=trace,
            model_optimize=0,
        )
        result = run_workload(workload(config), preset, config, chosen)
        assert result["check"]["verdict"] == "pass"
        assert result.pop("speed")["model"] == ("blocks" if is_composed else "flat")
        seen[is_composed] = result, trace.read_bytes()
    assert seen[False] == seen[True]


def traced(place, build, memory):
    """Run vecadd on the machine of a build; return the run's cycles and the bytes of its trace."""
    options = {"engine": "verilator", "memory": memory, "build": build, "model_optimize": 0}
    result = passed(run_kernel("vecadd", (200,), trace=place, **options))
    return result["run_cycles"], result["speed"]["model"], place.read_bytes()


TITLES = {
    DramConfig: "<title>Spica: vecadd, n 200, on tiny",
    CoreMemoryConfig: "<title>Spica: 4 warps of 4 threads",
}


@pytest.mark.parametrize(
    ("suffix", "memory"),
    [(suffix, DramConfig()) for suffix in OVERVIEW_SUFFIXES]
    + [(suffix, CoreMemoryConfig()) for suffix in TRACE_SUFFIXES],
    ids=str,
)
@pytest.mark.full
def test_both_kinds_of_models_write_the_same_trace(tmp_path, suffix, memory):
    cycles, model, trace = traced(tmp_path / f"a{suffix}", "quick", memory)
    other_cycles, other_model, other = traced(tmp_path / f"b{suffix}", "fast", memory)
    assert (model, other_model) == ("blocks", "flat")
    assert cycles == other_cycles
    assert trace == other
    assert len(trace) > 1000
    if suffix == ".html":  # the memory selects what a page shows
        assert TITLES[type(memory)] in trace.decode()
