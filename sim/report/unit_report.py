"""Execution units in a report: their use, the slots lost to each, and the one that is the limit."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table

from ...hw.isa.operations import PORTS, Port
from .tables import percent

__all__ = ["charged_losses", "issue_slots_of", "limit_lines", "unit_table"]

#: Share of issue slots lost to one unit from which it is named as the limit.
LIMIT = 0.5
#: Advice on a unit that is the limit.
ADVICE = {
    Port.INT: "independent instructions, or more warps, hide its latency",
    Port.FP32: "independent instructions, or more warps, hide its latency",
    Port.DIVIDE: "multiply by a reciprocal, divide by constants or powers of two, move divisions "
    "out of loops, or give it lanes (core.divide_lanes)",
    Port.SPECIAL: "move functions out of loops, or give it lanes (core.special_lanes)",
    Port.MEMORY: "keep values in registers or shared memory, let the threads of a warp access "
    "consecutive words, or use more warps",
    Port.CONTROL: "fewer barriers, fences and divergent branches",
    Port.TENSOR: "several accumulators or more warps hide its latency",
}


def issue_slots_of(result: Mapping[str, Any]) -> Counter[str]:
    """Return the issue slots of all cores by outcome."""
    total: Counter[str] = Counter()
    for core in result["cores"]:
        total.update(core["issue_slots"])
    return total


def charged_losses(result: Mapping[str, Any]) -> Counter[str]:
    """Return the issue slots of all cores by outcome in words, with the unit that is charged."""
    slots_by_reason = Counter({
        outcome.replace("_", " "): n for outcome, n in issue_slots_of(result).items()
    })
    for name, (_, lost) in uses(result).items():
        slots_by_reason.update({f"{reason} ({name})": slots for reason, slots in lost.items()})
        slots_by_reason.subtract(lost)
    return slots_by_reason


def limit_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the unit to which most issue slots are lost, if there is one."""
    slots = max(1, issue_slots_of(result).total())
    for name, (busy, lost) in uses(result).items():
        if lost.total() >= LIMIT * slots:
            port = Port[name.upper()]
            yield (
                f"Limit: the {PORTS[port].name} has an instruction in {percent(busy)} of the "
                f"cycles, and {percent(lost.total() / slots)} of the issue slots are lost to it; "
                f"{ADVICE[port]}"
            )


def unit_table(result: Mapping[str, Any]) -> Table:
    """Return the table of execution units: use, and issue slots lost to each."""
    slots = max(1, issue_slots_of(result).total())
    table = Table(title="Execution units", title_justify="left", box=box.SIMPLE_HEAD)
    for head in ("in use", "slots lost", "share"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("lost to")
    for name, (busy, lost) in uses(result).items():
        reasons = (f"{reason} {n:,}" for reason, n in lost.most_common())
        share = percent(lost.total() / slots)
        table.add_row(percent(busy), f"{lost.total():,}", share, name, ", ".join(reasons))
    return table


def uses(result: Mapping[str, Any]) -> dict[str, tuple[float, Counter[str]]]:
    """Return the units in use: share of the cycles of their cores, slots lost by reason."""
    busy: Counter[str] = Counter()
    lost: dict[str, Counter[str]] = {}
    cycles = issue_slots_of(result).total() / result["config"]["core"]["issue_width"]
    for core in result["cores"]:
        for name, unit in (core["units"] or {}).items():
            busy[name] += unit["cycles"]
            by_reason = {reason.replace("_", " "): n for reason, n in unit["lost_slots"].items()}
            lost.setdefault(name, Counter()).update(by_reason)
    ordered = sorted(lost, key=lambda name: (-lost[name].total(), -busy[name]))
    return {
        name: (busy[name] / max(1, cycles), lost[name])
        for name in ordered
        if busy[name] or lost[name]
    }
