"""Findings of the memory check as text."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..machine.memory_layout import amount
from .place_text import place_lines

__all__ = ["finding_lines", "findings_sentence"]

#: Findings in a report; a result file has all of them.
SHOWN = 6


def findings_sentence(findings: Sequence[dict[str, Any]]) -> str:
    """Return the number of findings in words."""
    lines = f"{len(findings)} line{'s' if len(findings) != 1 else ''}"
    return f"memory check: wrong accesses in {lines} of the program"


def finding_lines(findings: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the report of findings."""
    for finding in findings[:SHOWN]:
        times = f", {finding['count']:,} times" if finding["count"] > 1 else ""
        size = amount(finding["size"]) + (" in a row" if finding["work"] else "")
        yield f"  {finding['kind']}: {size} at {finding['address']:#010x}{times}"
        who = f"core {finding['core']}, warp {finding['warp']}"
        if finding["work"]:
            yield f"    {finding['work']}, started by {who}"
        else:
            yield f"    first by {who}, lane {finding['lane']}, at {finding['pc']:#010x}"
        yield from place_lines(finding["location"], "    ")
        yield f"    {finding['address']:#010x} is {finding['near']}"
    if len(findings) > SHOWN:
        yield f"  and {len(findings) - SHOWN} more lines; --json FILE has all of them"
