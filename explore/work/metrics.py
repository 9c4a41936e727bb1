"""Metrics of a sweep: columns of its table, each with its meaning and its better direction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...sim.report.result import ISSUE_SLOTS, ISSUED

__all__ = [
    "AREA_METRICS",
    "ENERGY_METRICS",
    "LESS",
    "METRICS",
    "MORE",
    "RUN_METRICS",
    "Metric",
    "figures_of",
]

LESS, MORE = "less", "more"
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """Figure of a point.

    Parameters
    ----------
    meaning : str
        Meaning, with its unit.
    better : str
        `LESS` or `MORE`.
    figure : callable
        Takes a result of a run, or a report of an area; returns the figure, None without one.

    """

    meaning: str
    better: str
    figure: Callable[[Result], int | float | None]


def entry(*keys: str) -> Callable[[Result], int | float | None]:
    """Return the function that selects an entry of nested sections, None if one is missing."""

    def figure(result: Result) -> int | float | None:
        section: Any = result
        for key in keys:
            section = None if section is None else section[key]
        return section

    return figure


def slot_share(outcome: str) -> Callable[[Result], float | None]:
    """Return the function that computes the share of an outcome among the issue slots of cores."""

    def figure(result: Result) -> float | None:
        slots = [core["issue_slots"] for core in result["cores"] or () if core["issue_slots"]]
        total = sum(sum(core.values()) for core in slots)
        return sum(core[outcome] for core in slots) / total if total else None

    return figure


def least_cycles(result: Result) -> int | None:
    """Return the largest limit of the analytic model, None if it does not describe the run."""
    prediction = result["prediction"]
    return max(prediction["limits"].values()) if prediction else None


def operations_per_cycle(result: Result) -> float | None:
    """Return the arithmetic operations of the problem per cycle."""
    operations, cycles = result["operations"], result["cycles"]
    return operations / cycles if operations and cycles else None


def traffic(key: str) -> Callable[[Result], int | float | None]:
    """Return the function that selects an entry of DRAM traffic in the whole run."""
    return entry("memory", "traffic", "run", key)


def energy(key: str) -> Callable[[Result], int | float | None]:
    """Return the function that selects an entry of the energy, None without energy."""
    return entry("energy", key)


#: Names of the metrics that need the energy of a run.
ENERGY_METRICS = ("energy_pj", "pj_per_mac", "energy_delay_js")
#: Metrics of a run by name.
RUN_METRICS = {
    "cycles": Metric("cycles of the measured region, else of the run", LESS, entry("cycles")),
    "least_cycles": Metric(
        "cycles that the work takes at least on these units and ports", LESS, least_cycles
    ),
    "operations_per_cycle": Metric(
        "arithmetic operations of the problem per cycle", MORE, operations_per_cycle
    ),
    "instructions": Metric("warp instructions", LESS, entry("instructions", "warp")),
    "instructions_per_cycle": Metric(
        "warp instructions per cycle", MORE, entry("instructions_per_cycle")
    ),
    "mac_utilization": Metric(
        "share of the matrix units' multiply-adds", MORE, entry("mac_utilization")
    ),
    "lane_utilization": Metric(
        "threads executed per lane of a warp instruction", MORE, entry("lane_utilization")
    ),
    "dram_read_bytes": Metric("bytes read from DRAM", LESS, traffic("read_bytes")),
    "dram_written_bytes": Metric("bytes written to DRAM", LESS, traffic("written_bytes")),
    "dram_utilization": Metric("share of DRAM's bandwidth", MORE, traffic("utilization")),
    "energy_pj": Metric("energy of the whole run from events, in pJ", LESS, energy("total_pj")),
    "pj_per_mac": Metric(
        "energy per multiply-add of the problem, in pJ", LESS, energy("pj_per_mac")
    ),
    "energy_delay_js": Metric(
        "energy-delay product at 100 MHz, in J s", LESS, energy("energy_delay_js")
    ),
    "issued": Metric("share of issue slots with an instruction", MORE, slot_share(ISSUED)),
} | {
    f"stall_{outcome}": Metric(f"share of empty slots: {meaning}", LESS, slot_share(outcome))
    for outcome, meaning in ISSUE_SLOTS.items()
    if outcome != ISSUED
}
#: Metrics of the area of a machine by name.
AREA_METRICS = {
    "nand2": Metric("NAND2 equivalents, including SRAM", LESS, entry("nand2_with_sram")),
    "cells": Metric("word-level cells", LESS, entry("cells")),
    "sram_bits": Metric("bits in memories", LESS, entry("sram_bits")),
    "depth": Metric("gates on the longest path between registers", LESS, entry("depth")),
}
METRICS = RUN_METRICS | AREA_METRICS


def figures_of(metrics: Mapping[str, Metric], result: Result) -> dict[str, int | float | None]:
    """Return the figures of a result by the names of the metrics."""
    return {name: metric.figure(result) for name, metric in metrics.items()}
