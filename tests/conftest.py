"""What all tests share: under continuous integration, a skipped test is a failed test."""

import os

import pytest


def forbid_skip(report):
    """Fail what a missing tool would skip: `.ci/run` sets `SPICA_CI` and installs the tools."""
    if report.skipped and os.environ.get("SPICA_CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, which SPICA_CI forbids: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return forbid_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return forbid_skip((yield))
