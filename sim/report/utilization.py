"""Utilisation of matrix units: cycles of the measured region by activity, for results."""

from typing import Any

from ...hw.config import WORD_BYTES, ClusterConfig
from ...hw.isa.memory_map import numbered
from ...hw.matrix.registry import KINDS, kind_of
from ...kernels.gemm.problem import GemmProblem
from ..harness.profile import POLLING
from ..machine.outcome import Execution
from .result import region_section

__all__ = [
    "ACTIVITIES",
    "USEFUL",
    "account_cores",
    "account_host",
    "shared_footprint",
]

#: Cycles from the start of one host access to the start of the next.
ACCESS_CYCLES = 20
#: The activity that is no loss.
USEFUL = "multiply_adds"
#: Activities of a matrix unit in the order of a report: a short name, and the meaning.
ACTIVITIES = {
    "multiply_adds": ("multiply-adds", "multiply-adds of the product"),
    "ragged": ("padding", "array computes padding of ragged tiles"),
    "first_load": ("first load", "first command to first compute: load of the first tiles"),
    **{
        counter.key: (counter.label, counter.loss)
        for kind in KINDS.values()
        for counter in kind.losses
    },
    "idle": ("no compute", "no compute queued: loads in flight, or host commands"),
    "no_compute": (
        "no compute",
        "no compute queued: loads in flight, commands, last drain and store",
    ),
    "last_store": ("last store", "last compute to last write response: drain and store"),
}


def account_host(
    config: ClusterConfig,
    problem: GemmProblem,
    execution: Execution,
    counters: dict[str, int],
    marks: list[int],
) -> dict[str, Any]:
    """Return the sections of a result on the cycles of a product commanded by a host.

    Parameters
    ----------
    config, problem
        Machine and product.
    execution : Execution
        The run.
    counters : dict
        The event counters afterwards.
    marks : list of int
        The clock one access before the first command, one access after the first compute was
        commanded, and when the last compute was seen to be done.

    """
    elapsed = execution.elapsed
    began, commanded, done = ((mark - marks[0]) & 0xFFFF_FFFF for mark in marks)
    active, activities = unit_activities(config, "matrix", problem.macs, counters)
    spent = {
        **activities,
        "first_load": commanded - began - 2 * ACCESS_CYCLES,
        # The last tile may be stored before the host sees that it is computed.
        "last_store": max(0, elapsed - (done - began - ACCESS_CYCLES)),
    }
    spent["idle"] = elapsed - sum(spent.values())
    region = None
    if execution.first_command is not None and execution.last_response is not None:
        region = region_section(
            execution.first_command,
            execution.last_response,
            begin_event="first_command",
            end_event="last_write_response",
        )
    unit = unit_section(elapsed, spent, active)
    return {
        "cycles": elapsed,
        "run_cycles": execution.cycles,
        "region": region,
        "mac_utilization": unit["mac_utilization"],
        "matrix_units": {"matrix": unit},
        "shared_read_bytes": shared_footprint(counters),
    }


def account_cores(
    config: ClusterConfig, macs: tuple[int, ...], done: dict[str, Any]
) -> dict[str, Any]:
    """Return the sections of a result on the cycles of products commanded by the cores.

    If several units have products, the time of each is the region of the core of its number. The
    utilisation of all is the sum of their multiply-adds over the sum of their capacities in these
    times.

    Parameters
    ----------
    config : ClusterConfig
        The machine.
    macs : tuple of int
        Multiply-adds of the problem, by matrix unit.
    done : dict
        The sections of a `RtlExecutor` of a cluster, with a region.

    """
    used = [number for number, wanted in enumerate(macs) if wanted]
    elapsed: dict[int, int] = {number: done["cycles"] for number in used}
    if len(used) > 1:
        regions = {number: done["cores"][number]["region"] for number in used}
        elapsed = {number: each["end"] - each["begin"] for number, each in regions.items()}
    counters, units = done["counters"], {}
    for number in used:
        name = numbered("matrix", number)
        active, spent = unit_activities(config, name, macs[number], counters)
        spent["no_compute"] = elapsed[number] - sum(spent.values())
        units[name] = unit_section(elapsed[number], spent, active)
    possible = sum(config.units[number].macs * elapsed[number] for number in used)
    spent = {name: function["cycles"] for name, function in done["profile"].items()}
    polled = sum(spent.get(name, 0) for name in POLLING)
    return {
        "mac_utilization": sum(macs) / possible if possible else None,
        "matrix_units": units,
        "polling_share": polled / max(1, sum(spent.values())),
        "shared_read_bytes": shared_footprint(counters),
    }


def unit_activities(
    config: ClusterConfig, name: str, macs: int, counters: dict[str, int]
) -> tuple[int, dict[str, float]]:
    """Return the active cycles of a unit, and the cycles that its counters classify."""
    unit = config.named_units[name]
    kind, useful = kind_of(unit), macs / unit.macs
    active = counters[kind.active.name_in(name)]
    losses = {counter.key: counters[counter.name_in(name)] for counter in kind.losses}
    return active, {USEFUL: useful, "ragged": active - useful, **losses}


def unit_section(elapsed: int, spent: dict[str, float], active: int) -> dict[str, Any]:
    """Return an entry of `matrix_units` of a result; `spent` sums to `elapsed`."""
    return {
        "cycles": elapsed,
        "mac_utilization": spent[USEFUL] / elapsed,
        "mac_active": active / elapsed,
        "breakdown": {
            name: {"cycles": spent[name], "share": spent[name] / elapsed}
            for name in ACTIVITIES
            if name in spent
        },
    }


def shared_footprint(counters: dict[str, int]) -> dict[str, int]:
    """Return the bytes that each requester read from shared memory, without those of 0."""
    prefix = "shared_read_words_"
    words = {
        name.removeprefix(prefix): count
        for name, count in counters.items()
        if name.startswith(prefix)
    }
    words["lanes"] = counters.get("shared_narrow_reads", 0)
    return {name: count * WORD_BYTES for name, count in words.items() if count}
