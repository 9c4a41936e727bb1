"""Common fixtures and hooks of all tests; under continuous integration, a skipped test fails."""

import gc
import os
from importlib import import_module
from math import inf
from pathlib import Path

import pytest

from spica.sim.trace.pipeline.pipeline import pipeline_of
from support.browser import chromium
from support.durations import ProcessorTime, name_of, recorded_durations
from support.tiers import TIERS, assign_tiers
from support.trace.recorded_core import CONFIG, PROGRAM, run_recorded

# Workers of xdist inherit the width of its terminal, which would fold tables.
os.environ.pop("COLUMNS", None)


def pytest_addoption(parser):
    parser.addoption("--tier", choices=TIERS, help="tests of a tier, in place of -m")


def pytest_configure(config):
    if config.option.tier:
        config.option.markexpr = TIERS[config.option.tier]


def tier_of(config) -> str:
    """Return the tier whose durations schedule a run: all but the quick tier as the full tier."""
    return "quick" if config.option.markexpr == TIERS["quick"] else "full"


def pytest_runtest_logstart():
    """Note the processor time at the start of a test, which its reports add to."""
    PROCESSOR.restart()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker whole files, longest first, so that a file builds its models once.

    Workers that share a file would wait for each other's models. Slow tests are distributed one by
    one, because a file of them may take an hour.
    """
    if config.option.markexpr not in TIERS.values() or config.option.dist != "load":
        return None
    config.option.loadscopereorder = False
    return import_module("xdist.scheduler").LoadFileScheduling(config, log)


def pytest_collection_modifyitems(config, items):
    """Sort files by their recorded durations if several workers run, the longest first.

    Files without a record are the first. The order within a file stays random.
    """
    if hasattr(config, "workerinput"):
        durations = recorded_durations(tier_of(config))
        items.sort(key=lambda item: -durations.get(name_of(item.path), inf))


#: Processor time of the test that runs.
PROCESSOR = ProcessorTime()

#: Allocations between garbage collections: designs make many objects.
COLLECTED_EVERY = 200_000


def keep_objects():
    """Collect garbage, and exclude what is left from later collections."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish():
    """Exclude permanent objects (tests and modules) from garbage collection."""
    keep_objects()
    gc.set_threshold(COLLECTED_EVERY, *gc.get_threshold()[1:])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Exclude what caches hold at the end of a file from garbage collection."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            keep_objects()


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


@pytest.fixture(scope="module")
def browser():
    """Provide headless Chromium; skip the tests that need it if there is none."""
    with chromium() as browser:
        yield browser


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
    if call.when == "teardown":
        item.user_properties += PROCESSOR.properties()
    return forbid_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if isinstance(collector, pytest.Module) and (problems := assign_tiers(report.result or ())):
        report.outcome, report.longrepr = "failed", "\n".join(problems)
    return forbid_skip(report)
