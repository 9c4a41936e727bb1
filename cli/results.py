"""Delivery of a run's result: result file, report, exit code."""

import shutil
import sys
from collections.abc import Mapping
from typing import Any

from ..base.errors import MachineError
from ..sim.report.result import PASS, SAVED
from ..sim.report.run_report import WIDTH, report
from .options import JsonOutput, piped_width

__all__ = ["FAILED", "deliver", "deliver_failure"]

#: Exit code of a run whose check fails.
FAILED = 1


def deliver(result: Mapping[str, Any], output: JsonOutput) -> int:
    """Write the result, print its report, and return the exit code."""
    has_report = output.write(result)
    if result["status"] == SAVED:
        return 0
    if has_report:
        print(report(result, report_width()), end="")
    return 0 if result["check"]["verdict"] == PASS else FAILED


def deliver_failure(error: MachineError, output: JsonOutput):
    """Write the result of a run that stopped; the message of `error` is its report."""
    if error.result is not None:
        output.write(error.result)


def report_width() -> int:
    """Return the columns of a report: those of the terminal or `COLUMNS`, at most `WIDTH`."""
    is_terminal = sys.stdout.isatty()
    return min(WIDTH, shutil.get_terminal_size().columns if is_terminal else piped_width(WIDTH))
