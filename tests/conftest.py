"""What all tests share: under continuous integration, a skipped test is a failed test."""

import os
from importlib import import_module
from pathlib import Path

import pytest


def forbid_skip(report):
    """Fail what a missing tool would skip: `.ci/run` sets `SPICA_CI` and installs the tools."""
    if report.skipped and os.environ.get("SPICA_CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which SPICA_CI forbids: {reason}"
    return report


@pytest.fixture
def page_writer(monkeypatch):
    """Import scripts of the documentation, which are no part of the package."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs")
    return import_module


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return forbid_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return forbid_skip((yield))
