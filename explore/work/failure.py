"""Reasons of records: failed checks and errors, each on one line."""

from collections.abc import Mapping
from typing import Any

from ...sim.report.check_report import lost_elements

__all__ = ["failure_of", "one_line"]


#: Longest reason, in characters.
REASON = 300


def failure_of(check: Mapping[str, Any]) -> str:
    """Return the reason of a failed check."""
    wrong = [
        f"{name}: {wrong_elements(buffer)}"
        for name, buffer in check["buffers"].items()
        if buffer["wrong"] or buffer["guard_bytes_changed"]
    ]
    others = [check["device_errors"], *check["code_warnings"]]
    code = [f"exit code {check['exit_code']}"] if check["exit_code"] else []
    return one_line("; ".join(filter(None, [*code, *wrong, *others])))


def wrong_elements(buffer: Mapping[str, Any]) -> str:
    """Return how many elements of a buffer are wrong."""
    elements, left = buffer["elements"], lost_elements(buffer)
    parts = [f"{left:,} of {elements:,} values left the range of the format"] if left else []
    if buffer["wrong"] != left or not left:
        parts.append(f"{buffer['wrong'] - left:,} of {elements:,} elements are wrong")
    return ", ".join(parts)


def one_line(message: object) -> str:
    """Return a message on one line of limited length."""
    return " ".join(str(message).split())[:REASON]
