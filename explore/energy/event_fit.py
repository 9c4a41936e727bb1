"""Fit of event energies to runs with energy from gates: non-negative least squares per group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.config import MachineConfig
from .event_data import EventEnergies, GroupEnergies
from .event_table import CYCLES, GROUPS, EventBlock, EventCounts, event_blocks

__all__ = ["MeasuredRun", "Rows", "differences", "fitted_groups", "measured_run", "non_negative"]

#: Column of the number of instances.
INSTANCES = "instances"
#: Energy of a group, as a share of its run, below which its relative error does not matter.
FLOOR = 0.002
#: Steps of the fit.
STEPS = 20_000
#: Share of a group's energy below which the energy of an event is left out.
LEAST = 0.01

#: Figures of the energy of a group that are fitted.
FIGURES = (
    *(("total_pj",), ("clock_pj",), ("memory_pj",), ("internal_pj", "switching_pj")),
    *(("internal_pj",), ("leakage_pj",)),
)

Array = NDArray[np.float64]
#: Config of a group, and event.
Key = tuple[str, str]
#: Energies of a group by config.
Rows = Mapping[str, GroupEnergies]


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """Run with energy from gates.

    Parameters
    ----------
    energy : mapping
        Section `energy` of its result.
    blocks : sequence of EventBlock
        Groups of the machine.
    counts : EventCounts
        Events of the run.

    """

    energy: Mapping[str, Any]
    blocks: Sequence[EventBlock]
    counts: EventCounts


def measured_run(result: Mapping[str, Any], config: MachineConfig) -> MeasuredRun:
    """Return a run from its result with energy from gates."""
    counts = EventCounts(result, config)
    return MeasuredRun(energy=result["energy"], blocks=[*event_blocks(config)], counts=counts)


def non_negative(columns: Array, target: Array) -> Array:
    """Return the factors, none below 0, of the columns whose sum is nearest to the target."""
    sizes = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(sizes, sizes, 1.0)
    squares, goal = scaled.T @ scaled, scaled.T @ target
    factors = np.zeros(len(goal))
    for _ in range(STEPS):
        before = factors.copy()
        for index in np.flatnonzero(sizes):
            rest = goal[index] - squares[index] @ factors + factors[index]
            factors[index] = max(0.0, rest)
        if np.abs(factors - before).max(initial=0.0) <= 1e-9 * np.abs(factors).max(initial=0.0):
            break
    return factors / np.where(sizes, sizes, 1.0)


def fitted_groups(
    runs: Sequence[MeasuredRun], fixed: Mapping[str, Rows]
) -> dict[str, dict[str, GroupEnergies]]:
    """Return the energies of the groups of some runs, by config.

    Parameters
    ----------
    runs : sequence of MeasuredRun
        Runs to fit to.
    fixed : mapping
        Energies, by group and config, that are not fitted. The others are fitted to what these
        leave, and the result has only the others.

    """
    runs_of_group = {
        group: [run for run in runs if group in run.energy["by_group"]] for group in GROUPS
    }
    return {
        group: fitted_group(group, own, fixed.get(group, {}))
        for group, own in runs_of_group.items()
        if own
    }


def fitted_group(group: str, runs: Sequence[MeasuredRun], fixed: Rows) -> dict[str, GroupEnergies]:
    """Return the energies of a group by config, from runs on machines that have it.

    A machine may have it with two configs, in different matrix units.
    """
    cycles = tuple(clock + CYCLES for clock in GROUPS[group].clocks)
    total, clock, memory, logic, internal, leakage = (
        np.array([sum(run.energy["by_group"][group][name] for name in names) for run in runs])
        for names in FIGURES
    )
    scale = np.maximum(total, [FLOOR * run.energy["total_pj"] for run in runs])
    power = leakage * [run.energy["clock_mhz"] / run.energy["cycles"] * 1e3 for run in runs]
    columns = counted(group, runs, cycles)
    clock_pj = energies_of(
        columns, clock, scale, {config: fixed[config].clock_pj for config in fixed}
    )
    columns |= counted(group, runs, GROUPS[group].events)
    logic_pj = energies_of(
        columns, logic, scale, {config: fixed[config].logic_pj for config in fixed}
    )
    memory_pj = energies_of(
        columns, memory, scale, {config: fixed[config].memory_pj for config in fixed}
    )
    known = {config: {INSTANCES: fixed[config].leakage_nw} for config in fixed}
    leakage_nw = energies_of(counted(group, runs, (INSTANCES,)), power, power, known)
    return {
        config: GroupEnergies(
            leakage_nw=row[INSTANCES],
            clock_pj=clock_pj.get(config, {}),
            logic_pj=logic_pj.get(config, {}),
            memory_pj=memory_pj.get(config, {}),
            internal_share=float(internal.sum() / (logic.sum() or 1.0)),
        )
        for config, row in leakage_nw.items()
    }


def counted(group: str, runs: Sequence[MeasuredRun], names: Iterable[str]) -> dict[Key, Array]:
    """Return the events of a group in each run, by config and event."""
    columns: dict[Key, Array] = {}
    for number, run in enumerate(runs):
        for block in run.blocks:
            for name in names if block.group == group else ():
                column = columns.setdefault((block.config, name), np.zeros(len(runs)))
                column[number] += (
                    block.instances if name == INSTANCES else run.counts.count(block, name)
                )
    return columns


def energies_of(
    columns: Mapping[Key, Array],
    target: Array,
    scale: Array,
    known: Mapping[str, Mapping[str, float]],
) -> dict[str, dict[str, float]]:
    """Return the energies of events that explain a target best, by config.

    `scale` is the error of each run that counts as 1. Configs in `known` have these energies and
    are not in the result.
    """
    given = sum(
        known[config].get(name, 0.0) * column
        for (config, name), column in columns.items()
        if config in known
    )
    columns = {key: column for key, column in columns.items() if key[0] not in known}
    if not columns:
        return {}
    goal = (target - given) / scale
    matrix = np.stack([*columns.values()], axis=1) / scale[:, None]
    counts = (matrix * non_negative(matrix, goal)).max(axis=0) >= LEAST
    energies: dict[str, dict[str, float]] = {}
    factors = non_negative(matrix * counts, goal)
    for (config, name), factor in zip(columns, factors, strict=True):
        if factor:
            energies.setdefault(config, {})[name] = float(factor)
    return energies


def differences(
    run: MeasuredRun, energies: EventEnergies, *, least: float = 0.05
) -> dict[str, Any]:
    """Return the relative differences of event energies from gates in a run.

    Parameters
    ----------
    run : MeasuredRun
        The run.
    energies : EventEnergies
        Energies of its groups.
    least : float
        Share of the total that a group must have to be listed.

    """
    gates = {group: sums["total_pj"] for group, sums in run.energy["by_group"].items()}
    events = dict.fromkeys(gates, 0.0)
    for block in run.blocks:
        if (group_energies := energies.find(block)) is not None:
            events[block.group] += group_energies.dynamic(block, run.counts)
    total = sum(gates.values())
    return {
        "gates_pj": total,
        "total": sum(events.values()) / total - 1,
        "groups": {
            group: events[group] / energy - 1
            for group, energy in gates.items()
            if energy >= least * total
        },
    }
