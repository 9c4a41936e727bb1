"""Tests that both kinds of models write the same traces, byte by byte."""

import pytest

from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.trace import OVERVIEW_SUFFIXES, TRACE_SUFFIXES
from support.runs import passed, run_kernel

pytestmark = pytest.mark.full


def traced(place, build, memory):
    """Run vecadd on the machine of a build; return the run's cycles and the bytes of its trace."""
    options = {"engine": "verilator", "memory": memory, "build": build, "model_optimize": 0}
    result = passed(run_kernel("vecadd", (200,), trace=place, **options))
    return result["run_cycles"], result["speed"]["model"], place.read_bytes()


@pytest.mark.parametrize(
    ("suffix", "memory"),
    [(suffix, DramConfig()) for suffix in OVERVIEW_SUFFIXES]
    + [(suffix, CoreMemoryConfig()) for suffix in TRACE_SUFFIXES],
    ids=str,
)
def test_both_kinds_of_models_write_the_same_trace(tmp_path, suffix, memory):
    cycles, model, trace = traced(tmp_path / f"a{suffix}", "quick", memory)
    other_cycles, other_model, other = traced(tmp_path / f"b{suffix}", "fast", memory)
    assert (model, other_model) == ("blocks", "flat")
    assert cycles == other_cycles
    assert trace == other
    assert len(trace) > 1000
