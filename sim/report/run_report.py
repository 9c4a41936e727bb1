"""Report of a run: verdict, cycles, utilisation and largest losses, then all other figures."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from ...hw.machine.variants import tensor_of_result
from ...hw.styles.registry import tensor_style_of
from .check_report import check_lines
from .energy_report import energy_lines, energy_table
from .prediction_report import prediction_lines, prediction_table
from .profile_report import profile_tables
from .result import FAIL, ISSUE_SLOTS, ISSUED, PASS
from .tables import activity_table, percent, share_table, text_of
from .unit_report import charged_losses, issue_slots_of, limit_lines, unit_table
from .utilization import ACTIVITIES, USEFUL

__all__ = ["WIDTH", "report"]

#: Columns of a report that does not go to a terminal, and the most on one.
WIDTH = 100
#: Losses shown at the top.
LOSSES = 3
VERDICTS = {PASS: "PASS", FAIL: "FAIL"}
#: Events that bound a measured region.
EVENTS = {
    "first_command": "first command",
    "begin_marker": "begin marker",
    "end_marker": "end marker",
    "last_write_response": "last write response",
    "main": "start of main",
    "end_of_run": "end of run",
}
PLACES = {"dram": "DRAM", "shared": "shared memory"}
CACHES = {"l1i": "L1I", "l1d": "L1D", "l2": "L2"}


def report(result: Mapping[str, Any], width: int = WIDTH) -> str:
    """Return the report of a complete run, of lines of at most `width` columns."""
    parts = [
        wrapped(summary_lines(result), width),
        wrapped([*check_lines(result), *detail_lines(result)], width),
        *(text_of(table, width) for table in tables(result, width)),
        wrapped(setting_lines(result), width),
    ]
    return "\n".join(parts)


def summary_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield verdict, cycles, utilisation and the largest losses."""
    yield f"{VERDICTS[result['check']['verdict']]}: {workload(result)} on {result['preset']}"
    if result["cycles"] is None:
        counts = result["instructions"]
        yield f"Cycles: none, engine {result['engine']} has no clock"
        yield f"Instructions: {counts['warp']:,} warp, {counts['thread']:,} thread"
        yield f"Lane utilisation: {percent(result['lane_utilization'])}"
        return
    yield f"Cycles: {result['cycles']:,}{period(result['region'])}"
    if result["mac_utilization"] is not None:
        yield f"MAC utilisation: {percent(result['mac_utilization'])}"
    else:
        yield (
            f"Issue utilisation: {percent(result['issue_utilization'])}, "
            f"{result['instructions_per_cycle']:.3f} warp instructions per cycle"
        )
    for unit, losses in largest_losses(result):
        yield f"Largest losses{unit}: {losses}"
    if not result["matrix_units"] and result["cores"]:
        yield from limit_lines(result)


def workload(result: Mapping[str, Any]) -> str:
    """Return the kernel with its sizes, or the program."""
    if result["program"] is not None:
        return " ".join(result["program"])
    return " ".join([result["kernel"], *(f"{d}={n:,}" for d, n in result["sizes"].items())])


def period(region: Mapping[str, Any] | None) -> str:
    """Return the beginning and the end of a measured region."""
    if region is None:
        return ""
    return f", {EVENTS[region['begin_event']]} to {EVENTS[region['end_event']]}"


def largest_losses(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the largest losses of each matrix unit with a product, otherwise of the issue slots."""
    units = result["matrix_units"] or {}
    for name, unit in units.items():
        losses = {
            ACTIVITIES[key][0]: part["share"]
            for key, part in unit["breakdown"].items()
            if key != USEFUL
        }
        yield f" ({name})" if len(units) > 1 else "", largest(losses)
    if not units and result["cores"]:
        slots = charged_losses(result)
        total = max(1, slots.total())
        del slots[ISSUED]
        yield "", largest({reason: count / total for reason, count in slots.items()})


def largest(losses: Mapping[str, float]) -> str:
    """Return the largest losses in words."""
    ordered = sorted(losses.items(), key=lambda loss: -loss[1])[:LOSSES]
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered if share) or "none"


def detail_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the other figures: cycles, latency, traffic, instructions."""
    yield from cycle_lines(result)
    yield from latency_lines(result)
    yield from traffic_lines(result)
    if result["instructions"] is not None:
        yield from instruction_lines(result)
    yield from result["notes"]
    if result["energy"] is not None:
        yield from energy_lines(result["energy"])


def cycle_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield cycles in addition to those measured, and shares of them."""
    if result["options"]["lockstep"]:
        yield "Lockstep: every instruction matches the instruction-set model"
    if result["region"] is not None:
        yield f"Whole run: {result['run_cycles']:,} cycles"
    if result["prediction"] is not None:
        yield from prediction_lines(result["prediction"])
    if result["flush_cycles"]:
        yield f"Final write-back: {result['flush_cycles']:,} cycles"
    units = result["matrix_units"] or {}
    for name, unit in units.items():
        of = f" of {unit['cycles']:,} cycles ({name})" if len(units) > 1 else ""
        yield f"Array active: {percent(unit['mac_active'])}{of}"
    if units and result["polling_share"] is not None:
        yield f"Waiting for units: {percent(result['polling_share'])} of warp time"


def latency_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the latency of loads and of reads of caches."""
    loads = [
        f"{PLACES[place]} {figures['min']:,} / {figures['p50']:,} / {figures['p99']:,} "
        f"/ {figures['max']:,}"
        for place, figures in (result["load_latency"] or {}).items()
        if figures["count"]
    ]
    if loads:
        yield f"Load latency, min / p50 / p99 / max (cycles): {', '.join(loads)}"
    reads = [
        f"{CACHES[cache]} {figures['p50']:,} / {figures['p99']:,}"
        for cache, figures in (result["cache_latency"] or {}).items()
        if figures["count"]
    ]
    if reads:
        yield f"Read latency, p50 / p99 (cycles): {', '.join(reads)}"


def traffic_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the traffic of DRAM and of shared memory."""
    traffic = result["memory"]["traffic"]
    if traffic is not None:
        run, measured, of = traffic["run"], traffic["region"], period(result["region"])
        if measured is None:
            measured, of = run, ", whole run"
        elif result["driver"] == "cores":
            of = ", begin marker to end of run"
        yield f"DRAM traffic: {run['read_bytes']:,} bytes read, {run['written_bytes']:,} written"
        yield (
            f"DRAM utilisation: {percent(measured['utilization'])}, "
            f"{measured['bytes_per_cycle']:.1f} B/cycle{of}"
        )
    footprint = result["shared_read_bytes"]
    if footprint:
        parts = ", ".join(f"{name} {bytes_text(size)}" for name, size in footprint.items())
        yield f"Shared memory reads: {bytes_text(sum(footprint.values()))} ({parts})"


def bytes_text(size: int) -> str:
    """Return a number of bytes in the largest unit of which it is at least one."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} B"


def instruction_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the instructions of the cores."""
    counts = result["instructions"]
    if result["cycles"] is not None:
        yield (
            f"Instructions: {counts['warp']:,} warp, {counts['thread']:,} thread; "
            f"{result['instructions_per_cycle']:.3f} warp instructions per cycle"
        )
        yield f"Lane utilisation: {percent(result['lane_utilization'])}"
    accesses = f"Loads: {counts['loads']:,}; stores: {counts['stores']:,}"
    if counts["barriers"] is not None:
        accesses += f"; barrier arrivals: {counts['barriers']:,}"
    yield f"{accesses}; divergent splits: {counts['divergent_splits']:,}"
    yield from tensor_lines(result)
    if len(result["cores"]) > 1:
        by_core = ", ".join(f"{core['instructions']:,}" for core in result["cores"])
        yield f"Warp instructions by core: {by_core}"
    if result["operations"]:
        yield (
            f"Operations: {result['operations']:,}, "
            f"{result['operations_per_instruction']:.2f} per warp instruction"
        )


def tensor_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the products of the cores' tensor units, if there are any."""
    counted = [core["counters"] for core in result["cores"] if core["counters"] is not None]
    operations = sum(counters["operations_tensor"] for counters in counted)
    if operations:
        cycles = sum(counters["cycles"] for counters in counted)
        unit = tensor_of_result(result["config"]["core"])
        # Units without counters have products only.
        active = unit.steps * operations
        for counter in tensor_style_of(unit).counters[:1]:
            active = result["counters"].get(counter.name, active)
        yield (
            f"Tensor units: {active // unit.steps:,} products, active in "
            f"{percent(active / cycles)} of the cycles of their cores"
        )


def setting_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of the run, and how fast it was simulated."""
    options, memory = result["options"], result["memory"]
    settings = [f"engine {result['engine']}", f"driver {result['driver']}"]
    if options["formats"] is not None:
        settings.append(", ".join(f"{name} {form}" for name, form in options["formats"].items()))
        settings.append(f"{options['data']} data")
    if options["arrangement"] is not None:
        settings.append(f"operands arranged {options['arrangement']} the measured region")
    if options["scale"] is not None:
        mask = "causal mask" if options["causal"] else "no mask"
        settings.append(f"scale {options['scale']:.6g}, {mask}")
    if options["optimize"] is not None:
        settings.append(f"-O{options['optimize']}")
    if options["schedule"] is not None:
        settings.append(f"schedule {options['schedule']}")
    settings.append(f"seed {result['seed']}")
    yield f"Settings: {'; '.join(settings)}"
    if memory["model"] != "functional":
        yield f"Memory: {memory_text(memory['model'], memory['parameters'])}"
    speed = result["speed"]
    if speed["cycles_per_second"] is not None:
        model = {"blocks": ", composed of block models", "flat": ", model in one piece"}
        rate = f"{speed['cycles_per_second']:,.0f} cycles/s"
        yield f"Simulation speed: {rate}{model.get(speed['model'], '')}"
    else:
        yield f"Simulation speed: {speed['instructions_per_second']:,.0f} warp instructions/s"


def memory_text(model: str, parameters: Mapping[str, Any]) -> str:
    """Return the memory model with its parameters."""
    text = "DRAM" if model == "dram" else "simple memory"
    if model == "dram":
        text += f", {parameters['bytes_per_cycle']:g} B/cycle"
    cycles = parameters["latency"]
    text += f", latency {cycles:,} cycle{'s' if cycles != 1 else ''}"
    if parameters["jitter"]:
        text += f", jitter up to {parameters['jitter']:,} cycles"
    if parameters["stall"]:
        text += f", stalled in {percent(parameters['stall'])} of the cycles"
    return text


def tables(result: Mapping[str, Any], width: int) -> Iterator:
    """Yield the breakdowns: cycles of matrix units, issue slots, instructions, source lines."""
    units = result["matrix_units"] or {}
    for name, unit in units.items():
        title = "Cycles of the matrix unit" + (f" {name}" if len(units) > 1 else "")
        yield activity_table(unit["breakdown"], title, period(result["region"]).lstrip(", "))
    if result["cores"] and result["cycles"] is not None:
        slots = issue_slots_of(result)
        outcomes = {outcome(key): count for key, count in slots.items()}
        yield share_table("Issue slots", "slots", "outcome", outcomes)
        yield unit_table(result)
    if result["instructions"] is not None and result["instructions"]["by_unit"]:
        counts = result["instructions"]["by_unit"]
        yield share_table("Instructions by unit", "instructions", "unit", counts)
    if result["prediction"] is not None:
        yield prediction_table(result["prediction"])
    if result["energy"] is not None:
        yield energy_table(result["energy"])
    if result["source_profile"] is not None:
        yield from profile_tables(result["source_profile"], width)


def outcome(key: str) -> str:
    """Return the outcome of an issue slot: `ISSUED`, or the stall reason with its meaning."""
    return ISSUED if key == ISSUED else f"{key.replace('_', ' ')}: {ISSUE_SLOTS[key]}"


def wrapped(lines, width: int) -> str:
    """Return lines, those that are too long continued below with an indent."""
    parts = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        parts += textwrap.wrap(line, width, subsequent_indent=indent)
    return "".join(f"{part}\n" for part in parts)
