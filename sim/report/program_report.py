"""What a program on the cores did, for people: verdict, instructions, use of lanes."""

import io
import textwrap
from collections import Counter
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ...hw.core.issue.stall_reason import StallReason
from ...hw.isa.csr import COUNTERS
from ...kernels.header import EXIT_CODES
from .region_report import region_lines, region_tables

__all__ = ["simt_report"]

WIDTH = 100
#: What became of an issue slot, by the name of its `StallReason`.
SLOTS = {
    reason.name: COUNTERS[f"slots_{reason.name.lower()}"].meaning.removeprefix("empty slots: ")
    for reason in StallReason
}

#: Names of caches whose reads were measured.
CACHES = {"l1i": "L1I", "l1d": "L1D", "l2": "L2"}


def simt_report(result: dict[str, Any]) -> str:
    """Return the report of a result of `run_simt` or `run_program`."""
    lines = [
        headline(result),
        *(program_verdict(result) if "program" in result else kernel_verdict(result)),
        *(cycle_lines(result) if "cycles" in result else []),
        *region_lines(result),
        *(instruction_lines(result)),
    ]
    accesses = f"{result['loads']:,} loads, {result['stores']:,} stores"
    if "barriers" in result:
        accesses += (
            f", {result['barriers']:,} arrivals at barriers, {result['divergent_splits']:,} "
            "divergent splits"
        )
    tail = [accesses]
    cores = result["instructions_by_core"]
    if len(cores) > 1:
        tail.append(f"By core: {', '.join(f'{count:,}' for count in cores)} instructions")
    tail += result.get("notes", [])
    if "cycles" in result:
        tail.append(f"Simulated {result['simulated_cycles_per_second']:,.0f} cycles per second")
    else:
        rate = result["simulated_instructions_per_second"]
        tail.append(f"Simulated {rate:,.0f} instructions of warps per second")
    tables = [table_text(table) for table in region_tables(result)]
    if "slots" in result:
        tables.append(share_table("Issue slots", "slots", "what became of them", slots(result)))
    if "instructions_by_unit" in result:
        units = result["instructions_by_unit"]
        tables.append(share_table("Instructions by unit", "instructions", "unit", units))
    return f"{wrapped(lines)}\n{''.join(tables)}{wrapped(tail)}"


def cycle_lines(result: dict[str, Any]) -> list[str]:
    """Return how long it took, and who looked over the RTL's shoulder."""
    checked = "; every instruction agrees with the model" if result["lockstep"] else ""
    lines = [
        f"{result['cycles']:,} cycles, {result['instructions_per_cycle']:.3f} instructions of "
        f"warps per cycle{checked}"
    ]
    if flush := result.get("flush_cycles"):
        lines.append(f"In the last {flush:,} of them no core ran: the rest was written to DRAM")
    for place, name in (("dram", "DRAM"), ("shared", "shared memory")):
        latency = result.get("load_latency", {}).get(place)
        if latency and latency["loads"]:
            lines.append(
                f"Loads of {name} took {latency['min']:,} to {latency['max']:,} cycles, half of "
                f"them at most {latency['p50']:,}, 99 % at most {latency['p99']:,}"
            )
    caches = [
        f"{name} in {latency['p50']:,} and {latency['p99']:,}"
        for cache, name in CACHES.items()
        if (latency := result.get("cache_latency", {}).get(cache)) and latency["reads"]
    ]
    if caches:
        lines.append(
            f"Half and 99 % of the reads were answered in so many cycles: {'; '.join(caches)}"
        )
    return lines


def instruction_lines(result: dict[str, Any]) -> list[str]:
    """Return how many instructions it took."""
    counts = result["instructions"]
    line = f"{counts['warp']:,} instructions of warps"
    if "thread" in counts:
        line += (
            f", {counts['thread']:,} of threads: {result['lanes_used_percent']:.1f} % of the "
            "lanes used"
        )
    lines = [line]
    if result.get("operations"):
        lines.append(
            f"{result['operations']:,} operations of the problem, "
            f"{result['operations_per_instruction']:.2f} per instruction of a warp"
        )
    return lines


def slots(result: dict[str, Any]) -> dict[str, int]:
    """Return the issue slots of all cores by what became of them, in words."""
    summed: Counter[str] = Counter()
    for core in result["slots"]:
        summed.update(core)
    return {SLOTS[name]: count for name, count in summed.items()}


def wrapped(lines: list[str]) -> str:
    """Return lines, those that are too long continued below."""
    parts = []
    for line in lines:
        inside = " " * (len(line) - len(line.lstrip()) + 2)
        parts += textwrap.wrap(line, WIDTH, subsequent_indent=inside)
    return "".join(f"{part}\n" for part in parts)


def headline(result: dict[str, Any]) -> str:
    """Return what ran, where and how."""
    if "program" in result:
        what = " ".join(result["program"])
    else:
        sizes = " x ".join(f"{name} {size:,}" for name, size in result["sizes"].items())
        what = f"{result['kernel']}, {sizes},"
    if "cycles" in result:
        how = memory_text(result["memory"])
    else:
        order = "in turn" if result["schedule"] == "round_robin" else "in random order"
        how = f"warps {order}"
    return (
        f"{what} on {result['preset']} ({result['engine']}), -O{result['optimize']}, {how}, "
        f"seed {result['seed']}"
    )


def memory_text(memory: dict[str, Any]) -> str:
    """Return how good or bad the memory behind the cores was."""
    cycles = memory["latency"]
    if "bytes_per_cycle" in memory:
        return f"DRAM of {memory['bytes_per_cycle']:g} B/cycle and {cycles} cycles"
    text = f"memory of {cycles} cycle{'s' if cycles != 1 else ''}"
    if memory["jitter"]:
        text += f" and up to {memory['jitter']} more"
    if memory["stall"]:
        text += f", busy in {memory['stall']:.0%} of them"
    return text


def program_verdict(result: dict[str, Any]) -> list[str]:
    """Return how a user's own program ended, and what is no part of that verdict."""
    notes = [f"  note: {complaint}" for complaint in result["complaints"]]
    if result["device_errors"]:
        notes.append(f"  note: {result['device_errors']}")
    code = result["exit_code"]
    meanings = {number: meaning for number, meaning in EXIT_CODES.values()}
    why = f": {meanings[code]}" if code in meanings else ""
    return [f"ENDED with exit code {code}{why}", *notes]


def kernel_verdict(result: dict[str, Any]) -> list[str]:
    """Return what the check of a kernel's buffers and code found."""
    found = result["check"]
    results = {name: buffer for name, buffer in found["buffers"].items() if buffer["result"]}
    parts = [f"{name} {buffer['elements']:,} values" for name, buffer in results.items()]
    kept = len(found["buffers"]) - len(results)
    others = f"; {kept} other buffer{'s' if kept != 1 else ''} unchanged" if kept else ""
    right = f"{', '.join(parts)}, {closeness(results)}{others}"
    if found["verdict"] == "pass":
        return [f"PASS: {right}"]
    faults = []
    for name, buffer in found["buffers"].items():
        if not buffer["wrong"]:
            continue
        verb = "are wrong" if buffer["result"] else "were changed, though only to be read"
        faults.append(f"  {buffer['wrong']:,} of {buffer['elements']:,} values of {name} {verb}")
        faults += [f"    {example_text(name, example)}" for example in buffer["examples"]]
    if found["exit_code"]:
        faults.append(f"  the program ended with exit code {found['exit_code']}")
    if found["device_errors"]:
        faults.append(f"  {found['device_errors']}")
    if found["complaints"]:
        values = "" if faults else f", though every value is right: {right}"
        faults.append(f"  its code is not as it must be (--allow-spills lets it pass){values}")
        faults += [f"    {complaint}" for complaint in found["complaints"]]
    return ["FAIL:", *faults]


def closeness(results: dict[str, dict]) -> str:
    """Return how close the results are to what was expected."""
    largest = max((buffer["largest_error"] for buffer in results.values()), default=0.0)
    share = max((buffer["largest_share"] for buffer in results.values()), default=0.0)
    bits = bool(results) and all(buffer["exact"] for buffer in results.values())
    if largest == 0:
        return "bit-exact" if bits else "exact"
    within = f"{100 * share:.0f} % of its bound at most"
    if bits:
        return f"bit-exact, largest distance from float64 {largest:.3g}, {within}"
    return f"largest error {largest:.3g}, {within}"


def example_text(name: str, example: dict[str, Any]) -> str:
    """Return one wrong element in words."""
    index = ", ".join(map(str, example["index"]))
    bound = f", within {example['bound']:.3g}" if example["bound"] else ""
    return f"{name}[{index}]: expected {example['expected']}{bound}, got {example['got']}"


def share_table(title: str, what: str, whose: str, counts: dict[str, int]) -> str:
    """Return shares and counts of a whole by name, the largest first, those of 0 left out."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("share", justify="right")
    table.add_column(what, justify="right")
    table.add_column(whose)
    total = max(1, sum(counts.values()))
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count:
            table.add_row(f"{100 * count / total:.2f} %", f"{count:,}", name)
    return table_text(table)


def table_text(table: Table) -> str:
    """Return a table as text without blanks at the ends of lines."""
    text = io.StringIO()
    Console(file=text, width=WIDTH, highlight=False, no_color=True).print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
