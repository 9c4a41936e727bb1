"""Fit of event energies to runs with energy from gates: non-negative least squares per block."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.config import ClusterConfig
from ...synth.clocked_parts import ClockedPart, cluster_parts
from .event_data import BlockEnergies, EventEnergies
from .event_table import CANDIDATES, EventCounts

__all__ = ["MeasuredRun", "differences", "fitted_blocks", "measured_run", "non_negative"]

#: Column of the clocked cycles.
CYCLES = "cycles"
#: Most events of a block besides its clocked cycles.
EVENTS = 3
#: An event is added if it reduces the error of runs left out of the fit to this share.
GAIN = 0.9
#: Energy of a block, as a share of its run, below which its relative error does not matter.
FLOOR = 0.002

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """Run with energy from gates.

    Parameters
    ----------
    energy : mapping
        Section `energy` of its result.
    parts : mapping of (str, str) to ClockedPart
        Parts of the machine by block and group.
    counts : EventCounts
        Events of the run.

    """

    energy: Mapping[str, Any]
    parts: Mapping[tuple[str, str], ClockedPart]
    counts: EventCounts

    @property
    def blocks(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Entries of the blocks whose dynamic energy is known, by block and group."""
        return {
            (each["block"], each["group"]): each
            for each in self.energy["blocks"]
            if each["windows_counted"]
        }


def measured_run(result: Mapping[str, Any], config: ClusterConfig) -> MeasuredRun:
    """Return a run from its result with energy from gates."""
    parts = cluster_parts(config, result["preset"])
    return MeasuredRun(
        energy=result["energy"],
        parts={(each.block, each.group): each for each in parts},
        counts=EventCounts(result, config),
    )


def non_negative(columns: Array, target: Array) -> Array:
    """Return the factors, none below 0, of the columns whose sum is nearest to the target.

    All subsets of the columns are tried, so there should be few.
    """
    count = columns.shape[1]
    best, least = np.zeros(count), float(target @ target)
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            part = columns[:, chosen]
            factors = np.linalg.lstsq(part, target, rcond=None)[0]
            rest = part @ factors - target
            if (factors >= 0).all() and (error := float(rest @ rest)) < least * (1 - 1e-9):
                best, least = np.zeros(count), error
                best[list(chosen)] = factors
    return best


def left_out_error(columns: Array, target: Array) -> float:
    """Return the root mean square of the errors of runs, each left out of the fit once."""
    count = len(target)
    if count == 1:
        return float(abs(columns @ non_negative(columns, target) - target)[0])
    errors = []
    for row in range(count):
        kept = np.arange(count) != row
        factors = non_negative(columns[kept], target[kept])
        errors.append(float(columns[row] @ factors - target[row]))
    return float(np.sqrt(np.mean(np.square(errors))))


def chosen_factors(columns: Mapping[str, Array], target: Array, scale: Array) -> dict[str, float]:
    """Return factors of the clocked cycles and of the events that explain a target best.

    Parameters
    ----------
    columns : mapping of str to array
        Clocked cycles as `CYCLES`, and candidate events, of each run.
    target : array
        Energy of each run.
    scale : array
        Error of each run that counts as 1.

    """
    if not target.any():
        return {}
    goal = target / scale

    def matrix(names: Iterable[str]) -> Array:
        return np.stack([columns[name] / scale for name in names], axis=1)

    names, most = [CYCLES], min(EVENTS, len(target) // 2 - 1)
    error = left_out_error(matrix(names), goal)
    while len(names) <= most:
        others = [name for name in columns if name not in names and columns[name].any()]
        errors = {name: left_out_error(matrix([*names, name]), goal) for name in others}
        best = min(errors, key=lambda name: errors[name], default=None)
        if best is None or errors[best] > GAIN * error:
            break
        names.append(best)
        error = errors[best]
    factors = non_negative(matrix(names), goal)
    return {name: float(each) for name, each in zip(names, factors, strict=True) if each}


def fitted_blocks(runs: Sequence[MeasuredRun]) -> list[BlockEnergies]:
    """Return the energies of all blocks of some runs."""
    keys = dict.fromkeys(key for run in runs for key in run.blocks)
    return [fitted_block(key, [run for run in runs if key in run.blocks]) for key in keys]


def fitted_block(key: tuple[str, str], runs: Sequence[MeasuredRun]) -> BlockEnergies:
    """Return the energies of a block, by block and group, from runs that have it."""
    entries = [run.blocks[key] for run in runs]
    part = runs[0].parts[key]

    def figures(name: str) -> Array:
        return np.array([float(each[name]) for each in entries])

    def counted(name: str) -> Array:
        return np.array([float(run.counts.count(run.parts[key], name)) for run in runs])

    cycles = np.array([float(run.counts.clocked_cycles(run.parts[key])) for run in runs])
    columns = {CYCLES: cycles} | {name: counted(name) for name in CANDIDATES.get(key[1], ())}
    total, clock, memory = (figures(f"{name}_pj") for name in ("total", "clock", "memory"))
    logic = np.maximum(0.0, total - clock - memory)
    scale = np.maximum(total, [FLOOR * run.energy["total_pj"] for run in runs])
    scale[scale == 0] = 1.0
    of_logic, of_memory = (chosen_factors(columns, each, scale) for each in (logic, memory))
    clock_pj = float(clock.sum() / cycles.sum()) if cycles.any() else 0.0
    predicted = clock_pj * cycles
    for factors in (of_logic, of_memory):
        predicted = predicted + sum(each * columns[name] for name, each in factors.items())
    instances = sum(run.parts[key].instances for run in runs)
    return BlockEnergies(
        block=part.block,
        group=part.group,
        kind=part.kind,
        digest=part.digest,
        size=part.size,
        leakage_nw=float(figures("leakage_nw").sum()) / instances,
        clock_pj=clock_pj,
        logic_cycle_pj=of_logic.pop(CYCLES, 0.0),
        memory_cycle_pj=of_memory.pop(CYCLES, 0.0),
        logic_pj=of_logic,
        memory_pj=of_memory,
        internal_share=float(figures("internal_pj").sum() / logic.sum()) if logic.any() else 0.0,
        runs=len(runs),
        spread=float(np.std(predicted - total) / total.mean()) if total.any() else 0.0,
    )


def differences(
    run: MeasuredRun, energies: EventEnergies, *, least: float = 0.05
) -> dict[str, Any]:
    """Return the relative differences of event energies from gates in a run.

    Parameters
    ----------
    run : MeasuredRun
        The run.
    energies : EventEnergies
        Energies of its blocks.
    least : float
        Share of the total that a group must have to be listed.

    """
    gates: dict[str, float] = {}
    events: dict[str, float] = {}
    for key, entry in run.blocks.items():
        found, group = energies.find(run.parts[key]), key[1]
        gates[group] = gates.get(group, 0.0) + entry["total_pj"]
        own = found.energies.dynamic(run.parts[key], run.counts) if found is not None else 0.0
        events[group] = events.get(group, 0.0) + own
    total = sum(gates.values())
    return {
        "gates_pj": total,
        "total": sum(events.values()) / total - 1,
        "groups": {
            group: events[group] / each - 1
            for group, each in gates.items()
            if each >= least * total
        },
    }
