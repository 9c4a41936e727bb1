"""Common fixtures and hooks of all tests; under continuous integration, a skipped test fails."""

import gc
import os
from importlib import import_module
from pathlib import Path

import pytest

from spica.sim.trace.pipeline import pipeline_of
from spica.sim.trace_bench import CONFIG, PROGRAM, run_recorded

#: Slowest files, such as those that build the largest models: scheduled first.
LONGEST = (
    *("test_arithmetic", "test_core_random", "test_api", "test_core_lockstep", "test_save"),
    *("test_core_path", "test_shapes", "test_cluster_cores", "test_shared", "test_budgets"),
    *("test_matrix_unit", "test_engines_agree", "test_matrix_array", "test_core_micro"),
    *("test_runtime", "test_kernels", "test_synchronizer_stress", "test_core_collectors"),
    *("test_shared_conflicts", "test_data_cache", "test_l2_slice", "test_instruction_cache"),
    *("test_core_load_store", "test_dma_control", "test_gemm", "test_mutants", "test_presets"),
    *("test_core_counters_programs", "test_packaging", "test_cocotb", "test_macro_machine"),
    *("test_emitted_verilog",),
)


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
    """Sort the slowest files first if several workers run."""
    if hasattr(config, "workerinput"):
        ranks = {name: rank for rank, name in enumerate(LONGEST)}
        items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


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
