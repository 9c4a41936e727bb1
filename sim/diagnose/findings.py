"""Findings of the memory check: one for each source line, with what each address is close to."""

from collections.abc import Sequence
from typing import Any

from ...kernels.guards import guards_of
from ...kernels.program import Program
from ...kernels.symbols import Function
from ..iss.memory_check import Finding
from ..machine.memory_layout import MemoryLayout, amount
from .source_locations import Locator

__all__ = ["explain_findings"]


def explain_findings(
    findings: Sequence[Finding], program: Program, memory_layout: MemoryLayout
) -> list[dict[str, Any]]:
    """Return the findings for a result, one for each kind and source line, the first access first.

    Each has the fields of a `Finding` with ``location``, that of the call if the code is not the
    user's, ``object``, the variable at the address or closest to it, and ``near``, in words.
    """
    locator = Locator(program)
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for finding in findings:
        at_call = locator.own(finding.pc) is None and locator.own(finding.link - 4) is not None
        location = locator.at(finding.link - 4 if at_call else finding.pc)
        spot = (finding.pc,) if location is None else (location["file"], location["line"])
        name, near = near_address(finding.address, program, memory_layout)
        line = lines.setdefault(
            (finding.kind, *spot),
            vars(finding)
            | {"kind": finding.kind.value, "location": location, "object": name, "near": near}
            | {"count": 0},
        )
        line["count"] += finding.count
    return list(lines.values())


def near_address(
    address: int, program: Program, memory_layout: MemoryLayout
) -> tuple[str | None, str]:
    """Return the variable at an address or closest to it, None elsewhere, and a text on it."""
    variables = program.variables
    for variable in variables:
        if variable.start <= address < variable.end:
            return variable.name, f"byte {address - variable.start:,} of {described(variable)}"
    if not any(address in guard for guard in guards_of(program.symbols)):
        return None, memory_layout.describe(address)
    before = max(
        (variable for variable in variables if variable.end <= address), key=end_of, default=None
    )
    behind = min(
        (variable for variable in variables if variable.start > address), key=start_of, default=None
    )
    # The nearer one; an index that runs off an end is more often too large than negative.
    if before and not (behind and behind.start - address < address - before.end):
        beyond = address - before.end
        how_far = f"{amount(beyond)} beyond the end of" if beyond else "just beyond"
        return before.name, f"{how_far} {described(before)}"
    assert behind is not None, "a guard lies beside a variable"
    return behind.name, f"{amount(behind.start - address)} before {described(behind)}"


def start_of(variable: Function) -> int:
    """Return the first address of a variable."""
    return variable.start


def end_of(variable: Function) -> int:
    """Return the address after the last byte of a variable."""
    return variable.end


def described(variable: Function) -> str:
    """Return name, size and address of a variable."""
    return f"{variable.name}, {amount(variable.end - variable.start)} at {variable.start:#010x}"
