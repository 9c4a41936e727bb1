"""Energy of a run from event counters: no cell library, no synthesis, no waveform."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...sim.report.result import COMPLETE
from ...sim.run.options import RunOptions
from ...sim.run.request.energy import EVENTS, GATES, require_cluster_run
from ...sim.run.workload import Workload, run_workload
from ...synth.energy.design_energy import PartEnergy, PowerSum
from ...synth.energy.sampling import Part
from .event_data import RECONSTRUCTED, EventEnergies, read_energies
from .event_table import EventBlock, EventCounts, event_blocks
from .section import LIMITS, energy_of_run

__all__ = ["EventOptions", "event_section", "require_event_run", "run_with_events"]

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
    config: MachineConfig,
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
    require_event_run(config, options)
    result = run_workload(workload, preset, config, options, progress=progress, **others)
    if result["status"] != COMPLETE:
        return result
    return result | {"energy": event_section(result, config, energy)}


def require_event_run(config: MachineConfig, options: RunOptions):
    """Raise unless a run is one of the whole cluster, whose groups all have event energies."""
    require_cluster_run(config, options, EVENTS)
    energies = read_energies()
    missing = [block for block in event_blocks(config) if energies.find(block) is None]
    if missing:
        listed = "; ".join(f"{block.group} ({block.config})" for block in missing)
        raise UserError(
            f"{EVENTS} has no event energies of {listed}; use {GATES}, which computes them"
        )


def event_section(
    result: Mapping[str, Any], config: MachineConfig, options: EventOptions
) -> dict[str, Any]:
    """Return the `energy` of a result from its counters.

    Parameters
    ----------
    result : mapping
        Result of a run of the whole cluster.
    config : MachineConfig
        Config of the machine.
    options : EventOptions
        Clock and DRAM.

    """
    energies, counts = read_energies(), EventCounts(result, config)
    parts = [part_of_events(block, counts) for block in event_blocks(config)]
    source = {
        "liberty": energies.source["liberty"],
        "voltage": energies.source["voltage"],
        "sram_table": energies.source["sram_table"],
        "windows": None,
        "sampled_cycles": None,
        "instances": sum(len(part.part.instances) for part in parts),
        "instances_sampled": None,
        "rules": [*rules_of(result["preset"], energies), *RULES],
    }
    return energy_of_run(
        parts,
        result,
        megahertz=options.megahertz,
        dram_pj_per_bit=options.dram_pj_per_bit,
        source=source,
        fit=energies.presets.get(result["preset"], {"runs": [], "data_factors": {}}),
    )


def rules_of(preset: str, energies: EventEnergies) -> Iterator[str]:
    """Yield what the data of a preset leave out, besides `RULES`."""
    if preset in energies.source.get(RECONSTRUCTED, ()):
        yield (
            f"Runs of {preset} from gates are reconstructed: an earlier fit with its recorded "
            "differences from gates."
        )


def part_of_events(block: EventBlock, counts: EventCounts) -> PartEnergy:
    """Return the energy of a group of a machine in a run."""
    energies = read_energies().find(block)
    assert energies is not None
    cycles, logic = counts.run_cycles, counts.energy(block, energies.logic_pj)
    internal = energies.internal_share * logic
    power = PowerSum(
        internal=internal / cycles,
        switching=(logic - internal) / cycles,
        clock=counts.energy(block, energies.clock_pj) / cycles,
        ungated_clock=counts.ungated(energies.clock_pj),
        memory=counts.energy(block, energies.memory_pj) / cycles,
        leakage=energies.leakage_nw * block.instances,
    )
    return PartEnergy(
        part=Part(block=block.group, group=block.group, instances=("",) * block.instances),
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
