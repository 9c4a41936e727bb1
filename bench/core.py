"""Benchmark of the SIMT core against its definition: rates, costs, latency hiding, kernels."""

from collections.abc import Iterator

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.core.issue.stall_reason import StallReason
from spica.kernels.kernel import find_kernel
from spica.sim.microbenchmarks.bank_rows import bank_rows
from spica.sim.microbenchmarks.cost_rows import cost_rows
from spica.sim.microbenchmarks.issue_rows import (
    chain_rows,
    collector_rows,
    dual_issue_rows,
    issue_rows,
)
from spica.sim.microbenchmarks.memory_rows import access_rows, fetch_rows, hiding_rows
from spica.sim.microbenchmarks.port_rows import port_rows
from spica.sim.microbenchmarks.row import Row
from spica.sim.microbenchmarks.scheduler_rows import scheduler_rows
from spica.sim.report.result import ISSUE_SLOTS, PASS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload

from .kernels import SIZES
from .target import Target

__all__ = ["measure", "rows", "tables"]

PRESET = "core"
#: Largest number of cycles of kernels on ideal memory.
CYCLES = {"vecadd": 10_500, "sgemm": 200_000}
#: Stall reasons without a column of their own: those that a core can do nothing about.
HIDDEN = (StallReason.DUAL_ISSUE, StallReason.INACTIVE_SET, StallReason.IDLE)
SHOWN = [key for key, reason in zip(ISSUE_SLOTS, StallReason, strict=True) if reason not in HIDDEN]


def rows(quick: bool) -> list[Row]:
    """Return the measured rows; if `quick`, only those of the default core."""
    parts = (
        *(issue_rows, chain_rows, collector_rows, dual_issue_rows, scheduler_rows),
        *(bank_rows, port_rows, cost_rows, hiding_rows, access_rows, fetch_rows),
    )
    return [row for part in parts for row in part() if not (quick and row.change)]


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result after each row and each kernel."""
    result: dict = {"preset": PRESET, "rows": [], "kernels": {}}
    everything = rows(quick)
    for done, row in enumerate(everything):
        tell(f"measuring {row.group}", done, len(everything))
        # The models run only for a moment, so a long build does not pay off.
        value = row.measured(optimize=1)
        result["rows"].append({
            "group": row.group,
            "name": row.name,
            "change": dict(row.change),
            "expected": f"{row.expected} {row.unit}",
            "why": row.why,
            "measured": value,
            "met": row.met(value),
        })
    yield result | {"targets": targets(result)}
    for done, (name, extents) in enumerate(SIZES.items()):
        tell(f"running {name}", done, len(SIZES))
        if quick:
            extents = tuple(max(1, extent // 8) for extent in extents)
        result["kernels"][name] = run_kernel(name, extents)
        yield result | {"targets": targets(result)}


def run_kernel(name: str, extents: tuple[int, ...]) -> dict:
    """Return the cycles of a kernel on ideal memory, and its issue slots by reason."""
    kernel = find_kernel(name)
    sizes = dict(zip(kernel.dimensions, extents, strict=True))
    options = SimtOptions(engine="verilator", lockstep=False)
    run = run_workload(KernelWorkload(kernel, sizes), PRESET, PRESETS[PRESET], options)
    slots = run["cores"][0]["issue_slots"]
    return {
        "sizes": sizes,
        "cycles": run["cycles"],
        "instructions": run["instructions"]["warp"],
        "instructions_per_cycle": run["instructions_per_cycle"],
        "slots_percent": {
            key: 100 * count / max(1, sum(slots.values())) for key, count in slots.items()
        },
        "verdict": run["check"]["verdict"],
    }


def targets(result: dict) -> list[dict]:
    """Return the targets: rows as expected, kernels correct, cycles within budget."""
    other = sum(not row["met"] for row in result["rows"])
    wrong = sum(kernel["verdict"] != PASS for kernel in result["kernels"].values())
    found = [
        Target(name="rows that differ from the definition", value=other, limit=0),
        Target(name="kernels with a wrong result", value=wrong, limit=0),
    ]
    for name, limit in CYCLES.items():
        kernel = result["kernels"].get(name)
        if kernel and tuple(kernel["sizes"].values()) == SIZES[name]:
            found.append(Target(name=f"cycles of {name}", value=kernel["cycles"], limit=limit))
    return [target.as_dict() for target in found]


def tables(result: dict) -> Iterator:
    """Yield a table for each group of rows, and the table of kernels."""
    for group in dict.fromkeys(row["group"] for row in result["rows"]):
        table = new_table(
            group.capitalize(),
            *("", "measurement", "core", "expected", "reason"),
            numbers=["measured"],
        )
        for row in result["rows"]:
            if row["group"] == group:
                table.add_row(
                    "met" if row["met"] else "MISSED",
                    row["name"],
                    ", ".join(f"{name} {value}" for name, value in row["change"].items()),
                    row["expected"],
                    row["why"],
                    f"{row['measured']:.4g}",
                )
        yield table
    if result["kernels"]:
        yield kernel_table(result)


def kernel_table(result: dict):
    """Return the table of kernels: cycles, and shares of issue slots in percent."""
    columns = [key.replace("_", " ") for key in SHOWN]
    table = new_table(
        f"Kernels on {result['preset']}, ideal memory; issue slots by reason in percent",
        "kernel",
        "size",
        numbers=["cycles", "instructions", "per cycle", *columns],
    )
    for name, kernel in result["kernels"].items():
        table.add_row(
            name,
            " x ".join(f"{extent:,}" for extent in kernel["sizes"].values()),
            f"{kernel['cycles']:,}",
            f"{kernel['instructions']:,}",
            f"{kernel['instructions_per_cycle']:.3f}",
            *(f"{kernel['slots_percent'].get(key, 0):.1f}" for key in SHOWN),
        )
    return table
