"""Energy of a flat machine from its own activity, with all loads across borders of blocks."""

from dataclasses import replace

from spica.synth.energy.block_energy import block_weights
from spica.synth.energy.block_model import Costs
from spica.synth.energy.mapped_netlist import MappedNetlist
from spica.synth.energy.memory_energy import memory_energy
from support.energy.flat_simulation import FlatRun

__all__ = ["flat_energy"]


def flat_energy(netlist: MappedNetlist, run: FlatRun, costs: Costs) -> dict[str, float]:
    """Return the energy of a flat machine in pJ, by the names in the `energy` of a result."""
    weights = block_weights(netlist, costs.cells)
    clock = 0.0
    for net, edges in run.edges.items():
        registers = tuple(energy for energy in netlist.flip_flops if energy.clock == net)
        pins = block_weights(replace(netlist, gates=(), flip_flops=registers), costs.cells)
        clock += edges * (pins.clock_internal + pins.clock_switching)
    memory = 0.0
    for (reads, writes), part in zip(run.accesses, netlist.opaque, strict=True):
        assert part.shape is not None
        energy = memory_energy(part.shape, costs.macros, costs.library.nand2, costs.storage)
        memory += reads * energy.read + writes * energy.write
    energies = {
        "internal_pj": float(weights.internal @ run.toggles),
        "switching_pj": float(weights.switching @ run.toggles),
        "clock_pj": clock,
        "memory_pj": memory,
    }
    return {**energies, "total_pj": sum(energies.values())}
