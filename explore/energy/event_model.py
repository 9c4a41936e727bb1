"""Energy of a run from event counters: no cell library, no synthesis, no waveform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hw.base.errors import UserError
from ...hw.base.progress import Progress
from ...hw.config import ClusterConfig
from ...sim.report.result import COMPLETE
from ...sim.run.options import RunOptions
from ...sim.run.workload import Workload, run_workload
from ...synth.clocked_parts import ClockedPart, cluster_parts
from ...synth.energy.design_energy import PartEnergy, PowerSum
from ...synth.energy.sampling import Part
from .event_data import SAME, BlockEnergies, EventEnergies, read_energies
from .event_table import EventCounts
from .requirements import EVENTS, require_cluster_run
from .section import LIMITS, energy_of_run

__all__ = ["EventOptions", "event_section", "run_with_events"]

#: Rules of event energies, besides those of gates.
RULES = (
    "Event energies are those of random data: other data change the energy of logic.",
    *LIMITS,
)


@dataclass(frozen=True, kw_only=True)
class EventOptions:
    """Options of the energy of a run from events.

    Parameters
    ----------
    megahertz : float
        Clock frequency, for power and leakage.
    dram_pj_per_bit : float or None
        Energy of a bit that DRAM reads or writes, in pJ; None for no energy of DRAM.

    """

    megahertz: float = 100.0
    dram_pj_per_bit: float | None = None


def run_with_events(
    workload: Workload,
    preset: str,
    config: ClusterConfig,
    options: RunOptions,
    *,
    energy: EventOptions,
    progress: Progress | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Run a workload and return its result, with its energy from events.

    Parameters
    ----------
    workload, preset, config, options, progress, **others
        As for `run_workload`.
    energy : EventOptions
        Clock and DRAM.

    """
    require_cluster_run(config, options, EVENTS)
    require_data(preset, config, progress)
    result = run_workload(workload, preset, config, options, progress=progress, **others)
    if result["status"] != COMPLETE:
        return result
    return result | {"energy": event_section(result, config, energy)}


def require_data(preset: str, config: ClusterConfig, progress: Progress | None):
    """Raise unless a block of a machine has event energies."""
    if progress is not None:
        progress("finding the blocks of the machine", 0, 0)
    energies = read_energies()
    if not any(energies.find(part) for part in cluster_parts(config, preset)):
        known = ", ".join(sorted(energies.presets))
        raise UserError(
            f"--energy must have data of blocks of {preset}, and there are none; choose a preset "
            f"of the data, {known}, or --energy-gates"
        )


def event_section(
    result: Mapping[str, Any],
    config: ClusterConfig,
    options: EventOptions,
    energies: EventEnergies | None = None,
) -> dict[str, Any]:
    """Return the `energy` of a result from its counters.

    Parameters
    ----------
    result : mapping
        Result of a run of the whole cluster.
    config : ClusterConfig
        Config of the machine.
    options : EventOptions
        Clock and DRAM.
    energies : EventEnergies or None
        Event energies; None for those of Spica.

    """
    energies = read_energies() if energies is None else energies
    counts = EventCounts(result, config)
    parts = cluster_parts(config, result["preset"])
    found = [energies.find(part) for part in parts]
    known = [
        part_of_events(part, each.energies, counts)
        for part, each in zip(parts, found, strict=True)
        if each is not None
    ]
    source = {
        "liberty": energies.source["liberty"],
        "voltage": energies.source["voltage"],
        "sram_table": energies.source["sram_table"],
        "windows": None,
        "sampled_cycles": None,
        "instances": sum(part.instances for part in parts),
        "instances_sampled": None,
        "rules": list(RULES),
    }
    return energy_of_run(
        known,
        result,
        megahertz=options.megahertz,
        dram_pj_per_bit=options.dram_pj_per_bit,
        source=source,
        fit=fit_entry(result["preset"], parts, energies),
    )


def part_of_events(part: ClockedPart, energies: BlockEnergies, counts: EventCounts) -> PartEnergy:
    """Return the energy of a part in a run."""
    cycles, logic = counts.cycles, energies.logic(part, counts)
    internal = energies.internal_share * logic
    clocked = sum(count for place, count in part.places.items() if place.is_clocked)
    power = PowerSum(
        internal=internal / cycles,
        switching=(logic - internal) / cycles,
        clock=energies.clock(part, counts) / cycles,
        ungated_clock=energies.clock_pj * clocked,
        memory=energies.memory(part, counts) / cycles,
        leakage=energies.leakage_nw * part.instances,
    )
    return PartEnergy(
        part=Part(block=part.block, group=part.group, instances=("",) * part.instances),
        power=power,
        sampled=0,
        windows=0,
        counting=0,
        cycles=0,
        reads=0.0,
        writes=0.0,
        errors=np.zeros(0),
        differing=(),
    )


def fit_entry(preset: str, parts: Sequence[ClockedPart], energies: EventEnergies) -> dict[str, Any]:
    """Return the fit behind the energy of a machine: runs, differences, and blocks without data."""
    related: dict[str, list[dict[str, str]]] = {"stale": [], "similar": []}
    missing, spreads = [], {}
    for part in parts:
        name = {"block": part.block, "group": part.group}
        found = energies.find(part)
        if found is None:
            missing.append(name)
            continue
        spreads[f"{part.block} ({part.group})"] = found.energies.spread
        if found.relation != SAME:
            related[found.relation].append(name | {"data": found.energies.block})
    known = energies.presets.get(preset, {"runs": [], "data": {}})
    return {
        "runs": known["runs"],
        "data_factors": known["data"],
        "spread": spreads,
        **related,
        "missing": missing,
    }
