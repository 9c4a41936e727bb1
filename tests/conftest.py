"""Common fixtures and hooks of all tests; under continuous integration, a skipped test fails."""

import gc
import os
from importlib import import_module
from pathlib import Path

import pytest

from spica.sim.trace.pipeline.pipeline import pipeline_of
from support.trace.recorded_core import CONFIG, PROGRAM, run_recorded

#: Slowest files, such as those that build the largest models: scheduled before the others.
LONGEST = {
    "hw/arith/test_arithmetic_units.py",
    "system/cores/test_core_random.py",
    "system/run/test_api.py",
    "system/cores/test_core_lockstep.py",
    "system/checkpoint/test_checkpoint.py",
    "hw/memory/memory_unit/test_memory_unit.py",
    "system/gemm/test_gemm_shapes.py",
    "system/clusters/test_cluster_cores.py",
    "hw/memory/shared/test_shared_memory.py",
    "cost/test_budgets.py",
    "hw/matrix/systolic/test_systolic_unit.py",
    "system/engines/test_engines_agree.py",
    "hw/matrix/systolic/test_matrix_array.py",
    "system/cores/test_microbenchmarks.py",
    "system/programs/test_runtime.py",
    "system/kernels/test_kernels.py",
    "system/consistency/test_cluster_barrier_stress.py",
    "hw/core/operands/test_collector_pool.py",
    "hw/memory/shared/test_shared_conflicts.py",
    "hw/memory/l1/test_data_cache.py",
    "hw/memory/l2/test_l2_slice.py",
    "hw/memory/l1/test_instruction_cache.py",
    "hw/core/units/lsu/test_load_store.py",
    "hw/memory/dma/test_dma_control.py",
    "system/gemm/test_gemm.py",
    "tools/test_mutants.py",
    "system/verilog/test_presets.py",
    "system/cores/test_core_counters_programs.py",
    "tools/packaging/test_packaging.py",
    "system/verilog/test_cocotb.py",
    "system/engines/test_macro_machine.py",
    "system/verilog/test_emitted_verilog.py",
}


TESTS = Path(__file__).parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker whole files, `LONGEST` first, so that a file builds its models once.

    Workers that share a file would wait for each other's models. Slow tests are distributed one by
    one, because a file of them may take an hour.
    """
    if config.option.markexpr != "not slow" or config.option.dist != "load":
        return None
    config.option.loadscopereorder = False
    return import_module("xdist.scheduler").LoadFileScheduling(config, log)


def pytest_collection_modifyitems(config, items):
    """Sort the slowest files first if several workers run; the order stays random within both."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.relative_to(TESTS).as_posix() not in LONGEST)


#: Allocations between garbage collections: designs make many objects.
COLLECTED_EVERY = 20_000


def pytest_collection_finish():
    """Exclude permanent objects (tests and modules) from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_EVERY, *gc.get_threshold()[1:])


def forbid_skip(report):
    """Fail tests that a missing tool would skip: `.ci/run` sets `SPICA_CI` and installs tools."""
    if report.skipped and os.environ.get("SPICA_CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which SPICA_CI forbids: {reason}"
    return report


@pytest.fixture
def page_writer(monkeypatch):
    """Import scripts of the documentation, which are not part of the package."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs")
    return import_module


@pytest.fixture(scope="session")
def recorded():
    """Run a program that uses most of a core, recorded; return read-only records and outcome."""
    return run_recorded(PROGRAM, CONFIG)


@pytest.fixture(scope="session")
def pipeline(recorded):
    """Return the pipeline history of that run's instructions."""
    return pipeline_of(recorded[0][0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return forbid_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return forbid_skip((yield))
