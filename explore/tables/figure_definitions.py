"""Definitions of the figures of a comparison that a result of a run has by itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..work.metrics import energy, entry, operations_per_cycle

__all__ = [
    "COUNT",
    "ENERGY",
    "FIRST",
    "LAST",
    "PICOJOULES",
    "RATE",
    "SHARE",
    "Definition",
    "Result",
    "Value",
]

Value = int | float | None
Result = Mapping[str, Any]
#: Kinds of values: a count, a number per cycle, a fraction of 1, an energy in pJ.
COUNT, RATE, SHARE, PICOJOULES = "count", "rate", "share", "picojoules"


def not_polling(result: Result) -> Value:
    """Return the warp instructions outside of polling loops."""
    counts = result["instructions"]
    if counts is None or counts["polling"] is None:
        return None
    return counts["warp"] - counts["polling"]


def array_active(result: Result) -> Value:
    """Return the share of cycles in which the arrays are active, over the time of each unit."""
    units = (result["matrix_units"] or {}).values()
    cycles = sum(unit["cycles"] for unit in units)
    return sum(unit["mac_active"] * unit["cycles"] for unit in units) / cycles if cycles else None


def counted(name: str, bytes_of: Callable[[Result], int] | None = None) -> Callable:
    """Return the function that sums the counters whose names begin so, times bytes of each event.

    It returns None for a machine without such a counter.
    """

    def figure(result: Result) -> Value:
        counters = result["counters"] or {}
        counts = [count for key, count in counters.items() if key.startswith(name)]
        if not counts:
            return None
        return sum(counts) * (1 if bytes_of is None else bytes_of(result))

    return figure


def line_bytes(cache: str) -> Callable[[Result], int]:
    """Return the function that finds the bytes of a line of an L1 cache."""
    return lambda result: result["config"]["core"][cache]["line_bytes"]


def beat_bytes(result: Result) -> int:
    """Return the bytes of a beat on an AXI4 master."""
    return result["config"]["axi"]["data_width"] // 8


def energy_delay(result: Result) -> Value:
    """Return the energy-delay product in pJ s, None without energy."""
    energy = result["energy"]
    return None if energy is None else energy["energy_delay_js"] * 1e12


def dram(key: str) -> Callable[[Result], Value]:
    """Return the function that selects an entry of DRAM traffic in the whole run."""
    return entry("memory", "traffic", "run", key)


@dataclass(frozen=True)
class Definition:
    """Definition of a figure; the parameters are those of `Figure`.

    Parameters
    ----------
    section, name, label, kind, meaning : str
        As for `Figure`.
    value : callable
        Takes the result of a run; returns the value, None without one.

    """

    section: str
    name: str
    label: str
    kind: str
    value: Callable[[Result], Value]
    meaning: str


#: Figures of speed and of instructions.
FIRST = (
    Definition(
        *("speed", "cycles", "cycles", COUNT, entry("cycles")),
        "cycles of the measured region, else of the run",
    ),
    Definition(
        *("speed", "run_cycles", "cycles of the whole run", COUNT, entry("run_cycles")),
        "cycles up to the end of the final write-back to DRAM",
    ),
    Definition(
        *("speed", "operations_per_cycle", "operations per cycle", RATE, operations_per_cycle),
        "arithmetic operations of the problem per cycle",
    ),
    Definition(
        *("speed", "mac_utilization", "MAC utilisation", SHARE, entry("mac_utilization")),
        "multiply-adds of the product divided by those possible in the cycles",
    ),
    Definition(
        *("speed", "mac_active", "array active", SHARE, array_active),
        "share of cycles in which a row of A enters the array",
    ),
    Definition(
        *("speed", "issue_utilization", "issue utilisation", SHARE, entry("issue_utilization")),
        "share of issue slots with an instruction",
    ),
    Definition(
        *("speed", "instructions_per_cycle", "instructions per cycle", RATE),
        entry("instructions_per_cycle"),
        "warp instructions of all cores per cycle of the whole run",
    ),
    Definition(
        *("speed", "lane_utilization", "lane utilisation", SHARE, entry("lane_utilization")),
        "threads executed per lane of a warp instruction",
    ),
    Definition(
        *("instructions", "retired", "retired", COUNT, entry("instructions", "warp")),
        "warp instructions of all cores",
    ),
    Definition(
        *("instructions", "not_polling", "without polling", COUNT, not_polling),
        "warp instructions outside of polling loops",
    ),
    Definition(
        *("instructions", "polling", "polling", COUNT, entry("instructions", "polling")),
        "warp instructions of polling loops",
    ),
    Definition(
        *("instructions", "loads", "loads", COUNT, entry("instructions", "loads")),
        "warp loads, polling included",
    ),
    Definition(
        *("instructions", "stores", "stores", COUNT, entry("instructions", "stores")),
        "warp stores",
    ),
    Definition(
        *("instructions", "polling_share", "polling, of warp time", SHARE),
        entry("polling_share"),
        "share of the time of all warps in polling loops",
    ),
)
#: Figures of energy, from events.
ENERGY = (
    Definition(
        *("energy", "total_pj", "energy", PICOJOULES, energy("total_pj")),
        "energy of the whole run from events, without leakage and DRAM, in pJ",
    ),
    Definition(
        *("energy", "pj_per_mac", "pJ per multiply-add", RATE, energy("pj_per_mac")),
        "energy per multiply-add of the problem",
    ),
    Definition(
        *("energy", "power_mw", "power at 100 MHz, mW", RATE, energy("power_mw")),
        "average power without leakage",
    ),
    Definition(
        *("energy", "energy_delay", "energy-delay product, pJ s", RATE, energy_delay),
        "energy times the duration of the whole run at 100 MHz",
    ),
)
#: Figures of caches, DMA and DRAM.
LAST = (
    Definition(
        *("memory", "l1i_refill_bytes", "L1I refills, bytes", COUNT),
        counted("l1i_lines", line_bytes("l1i")),
        "bytes of the lines that L1I caches fetch",
    ),
    Definition(
        *("memory", "l1d_refill_bytes", "L1D refills, bytes", COUNT),
        counted("l1d_misses", line_bytes("l1d")),
        "bytes of the lines that L1D caches fetch",
    ),
    Definition(
        *("memory", "dma_read_bytes", "DMA reads, bytes", COUNT),
        counted("dma_read_beats_", beat_bytes),
        "bytes of the beats that the DMA reads, from the L2 or from DRAM",
    ),
    Definition(
        *("memory", "dma_written_bytes", "DMA writes, bytes", COUNT),
        counted("dma_write_beats_", beat_bytes),
        "bytes of the beats that the DMA writes, to the L2 or to DRAM",
    ),
    Definition(
        *("memory", "l2_reads", "L2 read bursts", COUNT, counted("l2_reads")),
        "bursts read from the L2",
    ),
    Definition(
        *("memory", "l2_read_misses", "L2 read misses", COUNT, counted("l2_read_misses")),
        "read bursts that missed in the L2",
    ),
    Definition(
        *("memory", "l2_writes", "L2 write bursts", COUNT, counted("l2_writes")),
        "bursts written to the L2",
    ),
    Definition(
        *("memory", "dram_read_bytes", "DRAM reads, bytes", COUNT, dram("read_bytes")),
        "bytes of read bursts in the whole run",
    ),
    Definition(
        *("memory", "dram_written_bytes", "DRAM writes, bytes", COUNT, dram("written_bytes")),
        "bytes of write bursts in the whole run",
    ),
    Definition(
        *("memory", "dram_utilization", "DRAM utilisation", SHARE, dram("utilization")),
        "share of DRAM's bandwidth in the whole run",
    ),
)
