"""Utilisation of matrix units: cycles of the measured region by activity, for results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...hw.config import WORD_BYTES, MachineConfig
from ...hw.isa.memory_map import numbered
from ...hw.styles.registry import MATRIX_STYLES, matrix_style_of

__all__ = [
    "ACTIVITIES",
    "USEFUL",
    "account_units",
    "combined_utilization",
    "shared_footprint",
]

#: The activity that is no loss.
USEFUL = "multiply_adds"
#: Activities of a matrix unit in the order of a report: a short name, and the meaning.
ACTIVITIES = {
    "multiply_adds": ("multiply-adds", "multiply-adds of the product"),
    "ragged": ("padding", "array computes padding of ragged tiles"),
    "first_load": ("first load", "first command to first compute: load of the first tiles"),
    **{
        counter.key: (counter.label, counter.loss)
        for kind in MATRIX_STYLES.values()
        for counter in kind.losses
    },
    "idle": ("no compute", "no compute queued: loads in flight, or host commands"),
    "no_compute": (
        "no compute",
        "no compute queued: loads in flight, commands, last drain and store",
    ),
    "last_store": ("last store", "last compute to last write response: drain and store"),
}


def account_units(
    config: MachineConfig,
    macs: Sequence[int],
    elapsed: Mapping[int, int],
    counters: Mapping[str, int],
    *,
    rest: str,
    known: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the sections of a result on the cycles of matrix units with products.

    The utilisation of all is the sum of their multiply-adds over the sum of their capacities.

    Parameters
    ----------
    config : MachineConfig
        The machine.
    macs : sequence of int
        Multiply-adds of the products, by matrix unit.
    elapsed : mapping
        Cycles of the measured region of each unit with a product, by its number.
    counters : mapping
        Event counters after the run.
    rest : str
        Activity of the cycles that have no other.
    known : mapping or None
        Cycles of activities that have no counter.

    """
    units = {}
    for number, cycles in elapsed.items():
        name, unit = numbered("matrix", number), config.units[number]
        kind, useful = matrix_style_of(unit), macs[number] / unit.macs
        active = counters[kind.active.name_in(name)]
        spent = {
            USEFUL: useful,
            "ragged": active - useful,
            **{counter.key: counters[counter.name_in(name)] for counter in kind.losses},
            **(known or {}),
        }
        spent[rest] = cycles - sum(spent.values())
        units[name] = unit_section(cycles, spent, active)
    possible = sum(config.units[number].macs * cycles for number, cycles in elapsed.items())
    return {
        "mac_utilization": sum(macs) / possible if possible else None,
        "matrix_units": units,
        "shared_read_bytes": shared_footprint(counters),
    }


def combined_utilization(config: MachineConfig, results: Iterable[Mapping[str, Any]]) -> float:
    """Return the utilisation of all matrix units in several runs on one machine.

    The capacity of a unit counts in the cycles of each run that has a product on it.
    """
    used = possible = 0.0
    for result in results:
        for number, unit in enumerate(config.units):
            section = result["matrix_units"].get(numbered("matrix", number))
            if section is not None:
                most = unit.macs * section["cycles"]
                used, possible = used + section["mac_utilization"] * most, possible + most
    return used / possible


def unit_section(elapsed: int, spent: Mapping[str, float], active: int) -> dict[str, Any]:
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


def shared_footprint(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes that each requester read from shared memory, without those of 0.

    A read of a row counts all bytes of the row, whatever its lanes use.
    """
    prefix = "shared_read_words_"
    words = {
        name.removeprefix(prefix): count
        for name, count in counters.items()
        if name.startswith(prefix)
    }
    words["rows"] = counters.get("shared_row_read_words", 0)
    words["lanes"] = counters.get("shared_narrow_reads", 0)
    return {name: count * WORD_BYTES for name, count in words.items() if count}
